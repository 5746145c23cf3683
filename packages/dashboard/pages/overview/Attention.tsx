/** What a user should look at, each with the way there; one calm line when all is well. */
import { useQuery } from "@tanstack/react-query"
import { Link, useRouteContext } from "@tanstack/react-router"
import type { LinkProps } from "@tanstack/react-router"
import type { ReactNode } from "react"
import type { Figures, ListedConnection, SendingNumber, Webhook } from "@messaging-service/client"
import { operationQuery } from "../api/call.ts"
import { toName, getStanding } from "../numbers/connection.ts"
import { Boundary } from "../ui/Boundary.tsx"
import { Icon } from "../ui/Icon.tsx"
import { QueryFailure } from "../ui/parts.tsx"
import { span } from "../ui/Time.tsx"
import { answerLabels, stoppedLabels } from "../webhooks/words.ts"
import { attentionLabels as labels } from "./words.ts"

/** A message that is due for longer is worth a line. */
const lateMillis = 300_000

interface Item {
  readonly key: string
  readonly tone: string
  readonly label: string
  readonly title: string
  readonly message?: string
  readonly link?: Pick<LinkProps, "to" | "search">
  /** The webhook of the log that the link leads to. */
  readonly webhookId?: string
}

const noNumber = (mayLink: boolean): Item => ({
  key: "no number",
  tone: "bg-amber-wash text-amber",
  label: labels.waiting,
  title: labels.noNumber,
  message: mayLink ? labels.linkOne : labels.othersLink,
  link: { to: "/w/$workspaceId/numbers" },
})

const ofNumbers = (
  numbers: ReadonlyArray<SendingNumber>,
  states: ReadonlyArray<ListedConnection>,
): ReadonlyArray<Item> =>
  numbers.flatMap((number) => {
    const state = states.find((one) => one.number_id === number.id)
    const { tone, message, label } = getStanding(number, state)
    if (message === null) return []
    const link = { to: "/w/$workspaceId/numbers" } as const
    return [{ key: `number ${number.id}`, tone, label, title: toName(number), message, link }]
  })

const ofOldest = (figures: Figures | undefined): ReadonlyArray<Item> => {
  const oldest = figures?.waiting.oldest_due_at
  const millis = oldest && figures ? Date.parse(figures.now) - Date.parse(oldest) : 0
  if (millis < lateMillis) return []
  return [
    {
      key: "oldest",
      tone: "bg-amber-wash text-amber",
      label: labels.waiting,
      title: labels.oldest(span(millis)),
      link: { to: "/w/$workspaceId/messages", search: { status: ["queued"] } },
    },
  ]
}

const ofWebhooks = (webhooks: ReadonlyArray<Webhook>): ReadonlyArray<Item> =>
  webhooks
    .filter(({ active, last_delivery: last }) => !active || (last?.error ?? null) !== null)
    .map(({ active, disabled_reason: stop, id, last_delivery: last, url }) => ({
      key: `webhook ${id}`,
      tone: active ? "bg-amber-wash text-amber" : "bg-red-wash text-red",
      label: active ? labels.failing : labels.stopped,
      title: labels.webhook(id),
      message: `${url}: ${
        stop === null
          ? labels.lastFailed(
              answerLabels(last?.error ?? null, last?.response_status ?? null),
              (last?.next_attempt_at ?? null) !== null,
            )
          : stoppedLabels[stop]
      }`,
      link: { to: "/w/$workspaceId/webhooks/$webhookId" } as const,
      webhookId: String(id),
    }))

export const Attention = ({
  figures,
  workspaceId,
}: {
  figures: Figures | undefined
  workspaceId: string
}) => {
  const path = { id: Number(workspaceId) }
  const numbers = useQuery(operationQuery("GET /admin/v1/workspaces/{id}/numbers", { path }))
  const { session } = useRouteContext({ from: "/inside" })
  // A member could not open the page that a line leads to.
  const seesWebhooks = session.role !== "member"
  const webhooks = useQuery({
    ...operationQuery("GET /admin/v1/workspaces/{id}/webhooks", { path }),
    enabled: seesWebhooks,
  })
  const connections = useQuery(
    operationQuery("GET /admin/v1/workspaces/{id}/connections", { path }),
  )
  const questions = [numbers, connections, ...(seesWebhooks ? [webhooks] : [])]
  const isKnown = questions.every(({ data }) => data !== undefined)
  const error = questions.find((one) => one.error !== null)?.error ?? null
  return (
    <>
      <QueryFailure
        error={error}
        again={() => questions.forEach(({ refetch }) => void refetch())}
      />
      {!isKnown && !error && <div className="card h-11" />}
      {isKnown && (
        <Boundary of={questions.map(({ dataUpdatedAt }) => dataUpdatedAt).join(" ")}>
          <Items
            figures={figures}
            numbers={numbers.data?.data ?? []}
            states={connections.data?.data ?? []}
            webhooks={webhooks.data?.data ?? []}
            seesWebhooks={seesWebhooks}
            workspaceId={workspaceId}
          />
        </Boundary>
      )}
    </>
  )
}

const Items = ({
  figures,
  numbers,
  seesWebhooks,
  states,
  webhooks,
  workspaceId,
}: {
  figures: Figures | undefined
  numbers: ReadonlyArray<SendingNumber>
  states: ReadonlyArray<ListedConnection>
  webhooks: ReadonlyArray<Webhook>
  seesWebhooks: boolean
  workspaceId: string
}) => {
  const items = [
    ...(numbers.length === 0 ? [noNumber(seesWebhooks)] : []),
    ...ofNumbers(numbers, states),
    ...ofOldest(figures),
    ...ofWebhooks(webhooks),
  ]
  if (items.length === 0)
    return (
      <p className="card flex min-h-11 items-center gap-2.5 px-4 py-2 text-soft">
        <span className="size-2 shrink-0 rounded-full bg-mark" aria-hidden="true" />
        {labels.calm(seesWebhooks)}
      </p>
    )
  return (
    <section aria-label={labels.title} className="card overflow-hidden">
      <ul>
        {items.map((item) => (
          <Line key={item.key} item={item} workspaceId={workspaceId} />
        ))}
      </ul>
    </section>
  )
}

const Line = ({
  item: { link, tone, message, title, webhookId, label },
  workspaceId,
}: {
  item: Item
  workspaceId: string
}): ReactNode => (
  <li className="relative grid grid-cols-[minmax(0,1fr)_auto] items-center gap-x-3 gap-y-1 border-b border-line px-4 py-2.5 last:border-0 hover:bg-sunken md:grid-cols-[6.5rem_minmax(0,1fr)_auto]">
    <span
      className={`justify-self-start rounded-full px-2 py-1 text-xs font-medium whitespace-nowrap ${tone}`}
    >
      {label}
    </span>
    <p className="min-w-0 break-words">
      {link === undefined ? (
        <span className="font-medium">{title}</span>
      ) : (
        <Link
          {...link}
          params={{ workspaceId, ...(webhookId === undefined ? {} : { webhookId }) }}
          className="font-medium after:absolute after:inset-0"
        >
          {title}
        </Link>
      )}{" "}
      {message && <span className="text-soft">{message}</span>}
    </p>
    {link !== undefined && (
      <Icon
        name="chevron"
        className="text-faint max-md:row-span-2 max-md:row-start-1 max-md:col-start-2"
      />
    )}
  </li>
)
