/** Whether an endpoint receives events, as a word with a colour. */
import type { Webhook } from "@messaging-service/client"
import { webhooksLabels as labels } from "./words.ts"

type State = "active" | "failing" | "stopped"

const variants: Readonly<Record<State, { readonly ground: string; readonly dot: string }>> = {
  active: { ground: "bg-accent-wash text-accent", dot: "bg-mark" },
  failing: { ground: "bg-amber-wash text-amber", dot: "bg-amber" },
  stopped: { ground: "bg-red-wash text-red", dot: "bg-mark-red" },
}

const getState = ({ active, last_delivery: last }: Webhook): State => {
  if (!active) return "stopped"
  return (last?.error ?? null) === null ? "active" : "failing"
}

export const WebhookState = ({ webhook }: { webhook: Webhook }) => {
  const state = getState(webhook)
  const { dot, ground } = variants[state]
  return (
    <span
      className={`inline-flex h-6 items-center gap-1.5 rounded-full px-2 text-xs font-medium ${ground}`}
    >
      <span aria-hidden="true" className={`size-1.5 rounded-full ${dot}`} />
      {labels[state]}
    </span>
  )
}
