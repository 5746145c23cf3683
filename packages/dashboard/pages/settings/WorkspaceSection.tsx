/** What operators decide about a workspace: name, retention, plan, and what is switched on. */
import { useState } from "react"
import type { FormEvent } from "react"
import type { ChangeWorkspace, Workspace } from "@messaging-service/client"
import { useCall } from "../api/useCall.ts"
import { CheckField, FormEnd, TextField, fieldProblem, textOf } from "../ui/forms.tsx"
import { Section } from "../ui/Section.tsx"
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
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    const body = changeOf(workspace, shownIn(new FormData(event.currentTarget)))
    if (Object.keys(body).length > 0) change.mutate({ path: { id: workspace.id }, body })
  }
  return (
    <Section title={words.title} about={words.about}>
      <form className="card flex flex-col gap-5 p-5" onSubmit={submit}>
        <div className="grid items-start gap-5 sm:grid-cols-2">
          <TextField
            name="name"
            label={words.name}
            defaultValue={workspace.name}
            problem={fieldProblem(change.error, "name")}
            required
            maxLength={100}
          />
          <TextField
            name="retention"
            label={words.retention}
            about={words.retentionAbout}
            defaultValue={workspace.retention_days ?? ""}
            problem={fieldProblem(change.error, "retention_days")}
            type="number"
            min={1}
            max={3650}
          />
        </div>
        <Switches workspace={workspace} />
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
        <FormEnd
          action={words.save}
          busy={change.isPending}
          error={change.error}
          fields={["name", "retention_days"]}
        />
      </form>
    </Section>
  )
}

const Switches = ({ workspace }: { workspace: Workspace }) => (
  <div className="grid gap-4 sm:grid-cols-3">
    <CheckField
      name="disabled"
      label={words.disabled}
      about={words.disabledAbout}
      defaultChecked={workspace.account_disabled}
    />
    <CheckField
      name="demo"
      label={words.demo}
      about={words.demoAbout}
      defaultChecked={workspace.demo}
    />
    <CheckField
      name="api v2"
      label={words.apiV2}
      about={words.apiV2About}
      defaultChecked={workspace.api_v2_enabled}
    />
  </div>
)

const defaultStorageBytes = 1_073_741_824

const PlanFields = ({ error, plan }: { plan: Workspace["plan"]; error: Error | null }) => (
  <>
    <div className="grid items-start gap-4 sm:grid-cols-2">
      <TextField
        name="plan name"
        label={words.planName}
        defaultValue={plan?.name ?? ""}
        problem={fieldProblem(error, "plan")}
        required
      />
      <TextField
        name="remaining"
        label={words.remaining}
        about={words.unlimited}
        defaultValue={plan?.messages_remaining ?? ""}
        type="number"
        min={0}
      />
      <TextField
        name="max numbers"
        label={words.maxNumbers}
        about={words.unlimited}
        defaultValue={plan?.max_numbers ?? ""}
        type="number"
        min={0}
      />
      <TextField
        name="storage"
        label={words.storage}
        defaultValue={(plan?.media_storage_bytes ?? defaultStorageBytes) / mebibyte}
        type="number"
        step="any"
        min={0}
        required
      />
    </div>
    <div className="flex flex-wrap gap-x-6 gap-y-3">
      <CheckField
        name="reminders"
        label={words.reminders}
        defaultChecked={plan?.reminders ?? true}
      />
      <CheckField
        name="qr codes"
        label={words.qrCodes}
        defaultChecked={plan?.qr_code_api ?? true}
      />
    </div>
  </>
)
