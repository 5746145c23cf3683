/** Whether an endpoint receives events, as a word with a colour. */
import type { Webhook } from "@messaging-service/client"
import { webhooksWords as words } from "./words.ts"

export const WebhookState = ({ webhook: { active } }: { webhook: Webhook }) => (
  <span
    className={`inline-flex h-6 items-center gap-1.5 rounded-full px-2 text-xs font-medium ${active ? "bg-accent-wash text-accent" : "bg-red-wash text-red"}`}
  >
    <span
      aria-hidden="true"
      className={`size-1.5 rounded-full ${active ? "bg-mark" : "bg-mark-red"}`}
    />
    {active ? words.active : words.stopped}
  </span>
)
