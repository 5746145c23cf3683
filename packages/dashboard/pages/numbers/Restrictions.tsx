/** What WhatsApp lets a number do with people who never wrote to it, where the workspace has conversations. */
import { useQuery } from "@tanstack/react-query"
import type { Restrictions as NumberRestrictions } from "@messaging-service/client"
import { Refused, call, operationQuery } from "../api/call.ts"
import { pollMillis } from "../chats/unreadChats.ts"
import { Section } from "../ui/parts.tsx"
import { When } from "../ui/Time.tsx"
import type { NumberPath } from "./connection.ts"
import { restrictionTexts, restrictionsLabels as labels } from "./words.ts"

const name = "GET /admin/v1/workspaces/{id}/numbers/{number_id}/restrictions"

/** Null while conversations are off. */
const useRestrictions = (path: NumberPath) =>
  useQuery({
    queryKey: operationQuery(name, { path }).queryKey,
    queryFn: ({ signal }) =>
      call(name, { path, signal }).catch((error: unknown) => {
        if (error instanceof Refused && error.code === "conversations_not_enabled") return null
        throw error
      }),
    // News report numbers, not what WhatsApp says of them.
    refetchInterval: ({ state }) => (state.data ? pollMillis : false),
  })

/** Nothing until the service has answered, and while conversations are off. */
export const Restrictions = ({ path }: { path: NumberPath }) => {
  const { data } = useRestrictions(path)
  if (!data) return null
  return (
    <Section title={labels.title}>
      <div className="card flex flex-col gap-2 p-4">
        <p>
          {data.state === "new_chats_closed" && data.until !== null ? (
            <>
              {labels.closedUntil} <When at={data.until} />.
            </>
          ) : (
            restrictionTexts[data.state]
          )}
        </p>
        <Cap restrictions={data} />
      </div>
    </Section>
  )
}

const Cap = ({ restrictions: { new_chats: cap } }: { restrictions: NumberRestrictions }) => {
  if (cap === null || cap.limit === null) return null
  return (
    <p className="text-soft">
      {labels.used(cap.used, cap.limit)}
      {cap.resets_at !== null && (
        <>
          {" "}
          {labels.resets} <When at={cap.resets_at} />.
        </>
      )}
      {cap.warning !== "none" && ` ${labels.warnings[cap.warning]}`}
    </p>
  )
}
