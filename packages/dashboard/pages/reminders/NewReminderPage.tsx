/** Makes a reminder; a try after a lost answer makes none twice. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import { call, newKey } from "../api/call.ts"
import type { Attachment } from "../media/Attach.tsx"
import { PageHead, backLink } from "../ui/parts.tsx"
import { PlanNote, ReminderFields } from "./ReminderFields.tsx"
import { createRequest } from "./reminderForm.ts"
import { reminderLabels as labels } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/reminders/new")

export const NewReminderPage = () => {
  const { workspaceId } = route.useParams()
  const id = Number(workspaceId)
  const navigate = useNavigate()
  const client = useQueryClient()
  const [key, setKey] = useState(newKey)
  const { error, isPending, mutate } = useMutation({
    mutationFn: async ({ attachment, data }: { data: FormData; attachment: Attachment }) =>
      call("POST /admin/v1/workspaces/{id}/reminders", {
        path: { id },
        idempotencyKey: key,
        body: await createRequest({ data, attachment, workspaceId: id }),
      }),
    onSuccess: (reminder) =>
      navigate({
        to: "/w/$workspaceId/reminders/$reminderId",
        params: { workspaceId, reminderId: String(reminder.id) },
      }),
    onSettled: () => void client.invalidateQueries(),
  })
  return (
    <main className="page gap-4">
      <PageHead title={labels.newTitle}>
        <Link className={backLink} to="/w/$workspaceId/reminders" params={{ workspaceId }}>
          {labels.all}
        </Link>
      </PageHead>
      <PlanNote id={id} />
      <ReminderFields
        id={id}
        reminder={null}
        isBusy={isPending}
        error={error}
        submit={(data, attachment) => mutate({ data, attachment })}
        changed={() => setKey(newKey())}
      />
    </main>
  )
}
