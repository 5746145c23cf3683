/** What operators decide about a workspace: name, retention, plan, and what is switched on. */
import { useState } from "react"
import type { ChangeWorkspace, Workspace } from "@messaging-service/client"
import { useCall } from "../api/call.ts"
import { CheckField, Fields, Form, textOf } from "../ui/forms.tsx"
import type { FormFields } from "../ui/forms.tsx"
import { Section } from "../ui/parts.tsx"
import { workspaceWords as words } from "./words.ts"

const mebibyte = 1_048_576

const numberOrNull = (text: string): number | null => (text === "" ? null : Number(text))

/** What the form shows. */
const shownIn = (data: FormData) => ({
  name: textOf(data, "name"),
  retention_days: numberOrNull(textOf(data, "retention")),
  account_disabled: data.has("disabled"),
  demo: data.has("demo"),
  api_v2_enabled: data.has("api v2"),
  plan: data.has("has plan")
    ? {
        name: textOf(data, "plan name"),
        messages_remaining: numberOrNull(textOf(data, "remaining")),
        reminders: data.has("reminders"),
        qr_code_api: data.has("qr codes"),
        max_numbers: numberOrNull(textOf(data, "max numbers")),
        media_storage_bytes: Math.round(Number(textOf(data, "storage")) * mebibyte),
      }
    : null,
})

type Shown = ReturnType<typeof shownIn>

const shownOf = ({ plan, ...workspace }: Workspace): Shown => ({
  name: workspace.name,
  retention_days: workspace.retention_days,
  account_disabled: workspace.account_disabled,
  demo: workspace.demo,
  api_v2_enabled: workspace.api_v2_enabled,
  plan: plan && {
    name: plan.name,
    messages_remaining: plan.messages_remaining,
    reminders: plan.reminders,
    qr_code_api: plan.qr_code_api,
    max_numbers: plan.max_numbers,
    media_storage_bytes: plan.media_storage_bytes,
  },
})

/** Only what the user changed: the messages that remain, for one, go down while the form is open. */
const changeOf = (workspace: Workspace, shown: Shown): ChangeWorkspace => {
  const before = shownOf(workspace)
  const names = Object.keys(shown) as ReadonlyArray<keyof Shown>
  return Object.fromEntries(
    names
      .filter((name) => JSON.stringify(shown[name]) !== JSON.stringify(before[name]))
      .map((name) => [name, shown[name]]),
  )
}

export const WorkspaceSection = ({ workspace }: { workspace: Workspace }) => {
  const [hasPlan, setHasPlan] = useState(workspace.plan !== null)
  const change = useCall("PATCH /admin/v1/workspaces/{id}")
  const submit = (data: FormData) => {
    const body = changeOf(workspace, shownIn(data))
    if (Object.keys(body).length > 0) change.mutate({ path: { id: workspace.id }, body })
  }
  return (
    <Section title={words.title} about={words.about}>
      <Form
        className="card flex flex-col gap-5 p-5"
        action={words.save}
        call={change}
        submit={submit}
        fields={fieldsOf(workspace)}
      >
        <div className="grid gap-4 sm:grid-cols-3">
          <Fields error={null} fields={switchesOf(workspace)} />
        </div>
        <fieldset className="flex flex-col gap-4">
          <legend className="pb-2 text-sm font-medium">{words.plan}</legend>
          <CheckField
            name="has plan"
            label={words.hasPlan}
            about={hasPlan ? undefined : words.noPlan}
            checked={hasPlan}
            onChange={(event) => setHasPlan(event.target.checked)}
          />
          {hasPlan && <PlanFields plan={workspace.plan} error={change.error} />}
        </fieldset>
        {change.isSuccess && <p role="status">{words.saved}</p>}
      </Form>
    </Section>
  )
}

const fieldsOf = (workspace: Workspace): FormFields => [
  [
    {
      name: "name",
      label: words.name,
      defaultValue: workspace.name,
      required: true,
      maxLength: 100,
    },
    {
      name: "retention",
      shows: "retention_days",
      label: words.retention,
      about: words.retentionAbout,
      defaultValue: workspace.retention_days ?? "",
      type: "number",
      min: 1,
      max: 3650,
    },
  ],
]

const check = (name: string, label: string, defaultChecked: boolean, about?: string) =>
  ({ name, type: "checkbox", label, about, defaultChecked }) as const

const switchesOf = (workspace: Workspace): FormFields => [
  check("disabled", words.disabled, workspace.account_disabled, words.disabledAbout),
  check("demo", words.demo, workspace.demo, words.demoAbout),
  check("api v2", words.apiV2, workspace.api_v2_enabled, words.apiV2About),
]

const defaultStorageBytes = 1_073_741_824

const amount = (name: string, label: string, value: number | null | undefined) =>
  ({
    name,
    label,
    about: words.unlimited,
    defaultValue: value ?? "",
    type: "number",
    min: 0,
  }) as const

const PlanFields = ({ error, plan }: { plan: Workspace["plan"]; error: Error | null }) => (
  <>
    <Fields
      error={error}
      fields={[
        [
          {
            name: "plan name",
            shows: "plan",
            label: words.planName,
            defaultValue: plan?.name ?? "",
            required: true,
          },
          amount("remaining", words.remaining, plan?.messages_remaining),
          amount("max numbers", words.maxNumbers, plan?.max_numbers),
          {
            name: "storage",
            label: words.storage,
            defaultValue: (plan?.media_storage_bytes ?? defaultStorageBytes) / mebibyte,
            type: "number",
            step: "any",
            min: 0,
            required: true,
          },
        ],
      ]}
    />
    <div className="flex flex-wrap gap-x-6 gap-y-3">
      <Fields
        error={null}
        fields={[
          check("reminders", words.reminders, plan?.reminders ?? true),
          check("qr codes", words.qrCodes, plan?.qr_code_api ?? true),
        ]}
      />
    </div>
  </>
)
