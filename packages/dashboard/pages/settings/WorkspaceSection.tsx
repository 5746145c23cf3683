/** What operators decide about a workspace: name, retention, plan, and what is switched on. */
import { useState } from "react"
import type { ChangeWorkspace, Workspace } from "@messaging-service/client"
import { useCall } from "../api/call.ts"
import { CheckField, Fields, Form, formText } from "../ui/forms.tsx"
import type { FormFields } from "../ui/forms.tsx"
import { Section } from "../ui/parts.tsx"
import { workspaceLabels as labels } from "./words.ts"

const mebibyte = 1_048_576

const numberOrNull = (text: string): number | null => (text === "" ? null : Number(text))

/** What the form shows. */
const shownIn = (data: FormData) => ({
  name: formText(data, "name"),
  retention_days: numberOrNull(formText(data, "retention")),
  account_disabled: data.has("disabled"),
  demo: data.has("demo"),
  api_v2_enabled: data.has("api v2"),
  plan: data.has("has plan")
    ? {
        name: formText(data, "plan name"),
        messages_remaining: numberOrNull(formText(data, "remaining")),
        reminders: data.has("reminders"),
        qr_code_api: data.has("qr codes"),
        max_numbers: numberOrNull(formText(data, "max numbers")),
        media_storage_bytes: Math.round(Number(formText(data, "storage")) * mebibyte),
      }
    : null,
})

type View = ReturnType<typeof shownIn>

const toView = ({ plan, ...workspace }: Workspace): View => ({
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
const toChange = (workspace: Workspace, visible: View): ChangeWorkspace => {
  const before = toView(workspace)
  const names = Object.keys(visible) as ReadonlyArray<keyof View>
  return Object.fromEntries(
    names
      .filter((name) => JSON.stringify(visible[name]) !== JSON.stringify(before[name]))
      .map((name) => [name, visible[name]]),
  )
}

export const WorkspaceSection = ({ workspace }: { workspace: Workspace }) => {
  const [hasPlan, setHasPlan] = useState(workspace.plan !== null)
  const change = useCall("PATCH /admin/v1/workspaces/{id}")
  const submit = (data: FormData) => {
    const body = toChange(workspace, shownIn(data))
    if (Object.keys(body).length > 0) change.mutate({ path: { id: workspace.id }, body })
  }
  return (
    <Section title={labels.title} about={labels.about}>
      <Form
        className="card flex flex-col gap-5 p-5"
        action={labels.save}
        call={change}
        submit={submit}
        fields={toFields(workspace)}
      >
        <div className="grid gap-4 sm:grid-cols-3">
          <Fields error={null} fields={getSwitches(workspace)} />
        </div>
        <fieldset className="flex flex-col gap-4">
          <legend className="pb-2 text-sm font-medium">{labels.plan}</legend>
          <CheckField
            name="has plan"
            label={labels.hasPlan}
            about={hasPlan ? undefined : labels.noPlan}
            checked={hasPlan}
            onChange={(event) => setHasPlan(event.target.checked)}
          />
          {hasPlan && <PlanFields plan={workspace.plan} error={change.error} />}
        </fieldset>
        {change.isSuccess && <p role="status">{labels.saved}</p>}
      </Form>
    </Section>
  )
}

const toFields = (workspace: Workspace): FormFields => [
  [
    {
      name: "name",
      label: labels.name,
      defaultValue: workspace.name,
      required: true,
      maxLength: 100,
    },
    {
      name: "retention",
      shows: "retention_days",
      label: labels.retention,
      about: labels.retentionAbout,
      defaultValue: workspace.retention_days ?? "",
      type: "number",
      min: 1,
      max: 3650,
    },
  ],
]

const check = (name: string, label: string, defaultChecked: boolean, about?: string) =>
  ({ name, type: "checkbox", label, about, defaultChecked }) as const

const getSwitches = (workspace: Workspace): FormFields => [
  check("disabled", labels.disabled, workspace.account_disabled, labels.disabledAbout),
  check("demo", labels.demo, workspace.demo, labels.demoAbout),
  check("api v2", labels.apiV2, workspace.api_v2_enabled, labels.apiV2About),
]

const defaultStorageBytes = 1_073_741_824

const amount = (name: string, label: string, value: number | null | undefined) =>
  ({
    name,
    label,
    about: labels.unlimited,
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
            label: labels.planName,
            defaultValue: plan?.name ?? "",
            required: true,
          },
          amount("remaining", labels.remaining, plan?.messages_remaining),
          amount("max numbers", labels.maxNumbers, plan?.max_numbers),
          {
            name: "storage",
            label: labels.storage,
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
          check("reminders", labels.reminders, plan?.reminders ?? true),
          check("qr codes", labels.qrCodes, plan?.qr_code_api ?? true),
        ]}
      />
    </div>
  </>
)
