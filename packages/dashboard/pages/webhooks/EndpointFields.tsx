/** The fields of an endpoint, of a new one and of one to change. */
import type { Webhook } from "@messaging-service/client"
import { CheckField, formText } from "../ui/forms.tsx"
import type { FormFields } from "../ui/forms.tsx"
import { eventLabels, newWebhookLabels as labels } from "./words.ts"

const events = Object.keys(eventLabels) as ReadonlyArray<Webhook["events"][number]>

/** What the form holds. */
export const toEndpoint = (data: FormData) => ({
  url: formText(data, "url"),
  description: formText(data, "description"),
  events: events.filter((one) => data.has(one)),
})

/** The endpoint as it is now; a new one has every event. */
export const endpointFields = (webhook?: Webhook): FormFields => [
  {
    name: "url",
    type: "url",
    label: labels.url,
    about: labels.urlAbout,
    placeholder: labels.example,
    defaultValue: webhook?.url,
    required: true,
  },
  { name: "description", label: labels.description, defaultValue: webhook?.description },
  {
    shows: "events",
    draw: (problem) => (
      <fieldset className="flex flex-col gap-2">
        <legend className="pb-1 text-sm font-medium">{labels.events}</legend>
        {events.map((one) => (
          <CheckField
            key={one}
            name={one}
            label={eventLabels[one]}
            defaultChecked={webhook?.events.includes(one) ?? true}
          />
        ))}
        <p role="alert" className="text-xs text-red empty:hidden">
          {problem}
        </p>
      </fieldset>
    ),
  },
]

/** The ids of one endpoint's operations. */
export interface WebhookPath {
  readonly id: number
  readonly webhook_id: number
}
