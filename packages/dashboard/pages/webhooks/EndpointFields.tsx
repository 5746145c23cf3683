/** The fields of an endpoint, of a new one and of one to change. */
import type { Webhook } from "@messaging-service/client"
import { CheckField, TextField, fieldProblem, textOf } from "../ui/forms.tsx"
import { eventWords, newWebhookWords as words } from "./words.ts"

const events = Object.keys(eventWords) as ReadonlyArray<Webhook["events"][number]>

/** The names of the fields that show a refusal. */
export const endpointFields = ["url", "description", "events"]

/** What the form holds. */
export const endpointOf = (data: FormData) => ({
  url: textOf(data, "url"),
  description: textOf(data, "description"),
  events: events.filter((one) => data.has(one)),
})

export const EndpointFields = ({
  error,
  webhook,
}: {
  error: Error | null
  /** As it is now; a new one has every event. */
  webhook?: Webhook
}) => (
  <>
    <TextField
      name="url"
      type="url"
      label={words.url}
      about={words.urlAbout}
      problem={fieldProblem(error, "url")}
      placeholder={words.example}
      defaultValue={webhook?.url}
      required
    />
    <TextField
      name="description"
      label={words.description}
      problem={fieldProblem(error, "description")}
      defaultValue={webhook?.description}
    />
    <fieldset className="flex flex-col gap-2">
      <legend className="pb-1 text-sm font-medium">{words.events}</legend>
      {events.map((one) => (
        <CheckField
          key={one}
          name={one}
          label={eventWords[one]}
          defaultChecked={webhook?.events.includes(one) ?? true}
        />
      ))}
      <p role="alert" className="text-xs text-red empty:hidden">
        {fieldProblem(error, "events")}
      </p>
    </fieldset>
  </>
)
