/** The fields of an endpoint, of a new one and of one to change. */
import type { Webhook } from "@messaging-service/client"
import { useConversations } from "../settings/conversations.ts"
import { CheckField, formText } from "../ui/forms.tsx"
import type { FormFields } from "../ui/forms.tsx"
import { exampleReceiver } from "./receiverUrl.ts"
import { eventGroupLabels, eventLabels, newWebhookLabels as labels } from "./endpointWords.ts"

const events = Object.keys(eventLabels) as ReadonlyArray<Webhook["events"][number]>

/** What the form holds. */
export const toEndpoint = (data: FormData) => ({
  url: formText(data, "url"),
  description: formText(data, "description"),
  events: events.filter((one) => data.has(one)),
})

/** The others need conversations. */
const ofMessageEnds = events.slice(0, 4)

/** A URL that the page holds, and the way to one that the emulator answers. */
interface SuggestedUrl {
  readonly url: string
  readonly change: (url: string) => void
}

/**
 * The endpoint as it is now; a new one of that workspace has the events of messages' ends. With simulated phones a
 * new one may have an address of the emulator.
 */
export const endpointFields = (
  id: number,
  webhook?: Webhook,
  suggested?: SuggestedUrl,
): FormFields => [
  {
    name: "url",
    type: "url",
    label: labels.url,
    about: suggested === undefined ? labels.urlAbout : <Suggestion {...suggested} />,
    placeholder: labels.example,
    ...(suggested === undefined
      ? { defaultValue: webhook?.url }
      : { value: suggested.url, change: suggested.change }),
    required: true,
  },
  { name: "description", label: labels.description, defaultValue: webhook?.description },
  {
    shows: "events",
    draw: (problem) => (
      <Events id={id} chosen={webhook?.events ?? ofMessageEnds} problem={problem} />
    ),
  },
]

const Suggestion = ({ change }: SuggestedUrl) => (
  <>
    {labels.urlAbout} {labels.receiverAbout}{" "}
    <button
      type="button"
      onClick={() => change(exampleReceiver)}
      className="min-h-6 cursor-pointer font-medium text-accent underline"
    >
      {labels.useReceiver}
    </button>
  </>
)

const Events = ({
  chosen,
  id,
  problem,
}: {
  id: number
  chosen: Webhook["events"]
  problem: string | undefined
}) => {
  const conversations = useConversations(id)
  const offered = conversations.data == null ? ofMessageEnds : events
  const groups = toGroups(offered)
  return (
    <fieldset className="flex flex-col gap-3">
      <legend className="pb-1 text-sm font-medium">{labels.events}</legend>
      {groups.map(([title, ones]) => (
        <div key={title} role="group" aria-label={title} className="flex flex-col gap-2">
          {groups.length > 1 && <p className="label">{title}</p>}
          <div className="grid gap-2 sm:grid-cols-2">
            {ones.map((one) => (
              <CheckField
                key={one}
                name={one}
                label={eventLabels[one]}
                defaultChecked={chosen.includes(one)}
              />
            ))}
          </div>
        </div>
      ))}
      <p role="alert" className="text-xs text-red empty:hidden">
        {problem}
      </p>
    </fieldset>
  )
}

type EventType = Webhook["events"][number]

/** In their order, each below its title. */
const toGroups = (offered: ReadonlyArray<EventType>) => {
  const groups: Array<readonly [title: string, events: Array<EventType>]> = []
  for (const one of offered) {
    const title = eventGroupLabels[one]
    if (title !== undefined) groups.push([title, []])
    groups.at(-1)?.[1].push(one)
  }
  return groups
}

/** The ids of one endpoint's operations. */
export interface WebhookPath {
  readonly id: number
  readonly webhook_id: number
}
