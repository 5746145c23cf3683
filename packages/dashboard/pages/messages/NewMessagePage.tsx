/** Writes a message to one recipient or many, now or later, and shows it as the recipient's phone does. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { Link, getRouteApi } from "@tanstack/react-router"
import { useState } from "react"
import type { FormEvent } from "react"
import type { Message } from "@messaging-service/client"
import { call } from "../api/call.ts"
import type { Body } from "../api/operations.ts"
import { newKey } from "../api/newKey.ts"
import { Attach, AttachmentPreview, mediaOf } from "../media/Attach.tsx"
import type { Attachment } from "../media/Attach.tsx"
import { CheckField, FormEnd, TextArea, TextField, fieldProblem, textOf } from "../ui/forms.tsx"
import { useWaitNote } from "../numbers/StandingSentence.tsx"
import { Button, Empty, PageHead } from "../ui/parts.tsx"
import { AllMessages } from "./AllMessages.tsx"
import { FromField } from "./FromField.tsx"
import type { MessageSearch } from "./messageSearch.ts"
import { Preview } from "./Preview.tsx"
import { parseRecipients } from "./recipients.ts"
import { SendingNotes } from "./SendingNotes.tsx"
import { newMessageWords as words } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/messages/new")

const textMax = 3000

/** A local time of the form as an instant; null where it is empty. */
const instantOf = (data: FormData, name: string): string | null => {
  const text = textOf(data, name)
  return text === "" ? null : new Date(text).toISOString()
}

const requestOf = (
  data: FormData,
): Omit<Body<"POST /admin/v1/workspaces/{id}/messages/batch">, "to"> => {
  const from = textOf(data, "from")
  const message = textOf(data, "text")
  const reference = textOf(data, "reference")
  return {
    ...(from === "" ? {} : { from: Number(from) }),
    ...(message === "" ? {} : { text: message }),
    send_at: instantOf(data, "send at"),
    expires_at: instantOf(data, "expires at"),
    ...(reference === "" ? {} : { reference }),
  }
}

interface Form {
  readonly data: FormData
  readonly attachment: Attachment
  readonly mode: "live" | "test"
}

/** Sends what the form describes; a repeat after a lost answer sends nothing twice. */
const useSend = (id: number) => {
  const client = useQueryClient()
  const [key, setKey] = useState(() => newKey())
  const mutation = useMutation({
    mutationFn: async ({ attachment, data, mode }: Form): Promise<ReadonlyArray<Message>> => {
      const to = parseRecipients(textOf(data, "to"))
      const media = await mediaOf(attachment, id, mode)
      const request = { ...requestOf(data), ...(media === null ? {} : { media }) }
      const options = { path: { id }, query: { mode }, idempotencyKey: key }
      const [only] = to
      if (only !== undefined && to.length === 1) {
        const body = { ...request, to: only }
        return [await call("POST /admin/v1/workspaces/{id}/messages", { ...options, body })]
      }
      const answer = await call("POST /admin/v1/workspaces/{id}/messages/batch", {
        ...options,
        body: { ...request, to },
      })
      return answer.data
    },
    onSettled: () => void client.invalidateQueries(),
  })
  return {
    ...mutation,
    /** Another text is another message. */
    changed: () => setKey(newKey()),
  }
}

export const NewMessagePage = () => {
  const { workspaceId } = route.useParams()
  const { media } = route.useSearch()
  const id = Number(workspaceId)
  const [attachment, setAttachment] = useState<Attachment>(
    media === undefined ? { kind: "none" } : { kind: "stored", id: media },
  )
  const [mode, setMode] = useState<Form["mode"]>("live")
  const [text, setText] = useState("")
  const [to, setTo] = useState("")
  const { changed, data: sent, error, isPending, mutate, reset } = useSend(id)
  const again = () => {
    setText("")
    setTo("")
    setAttachment({ kind: "none" })
    changed()
    reset()
  }
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (!isPending) mutate({ data: new FormData(event.currentTarget), attachment, mode })
  }
  if (sent !== undefined)
    return <Accepted messages={sent} mode={mode} workspaceId={workspaceId} again={again} />
  const recipients = parseRecipients(to).length
  return (
    <main className="flex max-w-5xl flex-col gap-4 p-4 md:p-6">
      <PageHead title={words.title}>
        <AllMessages workspaceId={workspaceId} />
      </PageHead>
      <div className="grid items-start gap-6 lg:grid-cols-[minmax(0,1fr)_22rem]">
        <form className="card flex flex-col gap-4 p-5" onSubmit={submit} onChange={changed}>
          <ToAndText to={to} setTo={setTo} text={text} setText={setText} error={error} />
          <Attach
            id={id}
            mode={mode}
            attachment={attachment}
            change={setAttachment}
            newUpload={newKey}
            problem={fieldProblem(error, "media")}
          />
          <Options id={id} error={error} mode={mode} />
          <CheckField
            label={words.test}
            checked={mode === "test"}
            onChange={(event) => setMode(event.target.checked ? "test" : "live")}
          />
          <SendingNotes id={id} />
          <FormEnd
            action={words.send(recipients)}
            busy={isPending}
            error={error}
            fields={["to", "text", "from", "media", "send_at", "expires_at", "reference"]}
          />
        </form>
        <div className="lg:sticky lg:top-6">
          <Preview
            text={text}
            empty={attachment.kind === "none" ? words.previewEmpty : ""}
            media={<AttachmentPreview attachment={attachment} id={id} mode={mode} />}
          />
        </div>
      </div>
    </main>
  )
}

const ToAndText = ({
  error,
  setText,
  setTo,
  text,
  to,
}: {
  to: string
  setTo: (to: string) => void
  text: string
  setText: (text: string) => void
  error: Error | null
}) => (
  <>
    <TextArea
      name="to"
      label={words.to}
      about={words.toAbout(parseRecipients(to).length)}
      problem={fieldProblem(error, "to")}
      value={to}
      onChange={(event) => setTo(event.target.value)}
      rows={Math.min(6, Math.max(1, to.split("\n").length))}
      required
      autoFocus
    />
    <TextArea
      name="text"
      label={words.text}
      about={words.textAbout(textMax - text.length)}
      problem={fieldProblem(error, "text")}
      value={text}
      onChange={(event) => setText(event.target.value)}
      rows={5}
    />
  </>
)

const Options = ({ error, id, mode }: { id: number; error: Error | null; mode: Form["mode"] }) => (
  <div className="grid items-start gap-4 sm:grid-cols-2">
    <FromField id={id} problem={fieldProblem(error, "from")} sends={mode === "live"} />
    <TextField
      name="send at"
      type="datetime-local"
      label={words.sendAt}
      about={words.sendAtAbout}
      problem={fieldProblem(error, "send_at")}
    />
    <TextField
      name="expires at"
      type="datetime-local"
      label={words.expiresAt}
      about={words.expiresAtAbout}
      problem={fieldProblem(error, "expires_at")}
    />
    <TextField
      name="reference"
      maxLength={200}
      label={words.reference}
      about={words.referenceAbout}
      problem={fieldProblem(error, "reference")}
    />
  </div>
)

/** The list with what was sent: one message opened, of several those that are as new as the first of them. */
const searchFor = (messages: ReadonlyArray<Message>, mode: Form["mode"]): MessageSearch => ({
  ...(messages.length === 1 ? { open: messages[0]?.id } : { since: messages[0]?.created_at }),
  ...(mode === "test" ? { mode } : {}),
})

const Accepted = ({
  again,
  messages,
  mode,
  workspaceId,
}: {
  messages: ReadonlyArray<Message>
  mode: Form["mode"]
  workspaceId: string
  again: () => void
}) => {
  const numberId = mode === "live" ? messages[0]?.from.id : undefined
  const waitNote = useWaitNote(Number(workspaceId), numberId)
  return (
    <main className="flex max-w-5xl flex-col gap-4 p-4 md:p-6">
      <PageHead title={words.title}>
        <AllMessages workspaceId={workspaceId} />
      </PageHead>
      <div className="card">
        <Empty icon={waitNote === null ? "tick" : "clock"} title={words.accepted(messages.length)}>
          <span role="status" className="sr-only">
            {words.accepted(messages.length)}
          </span>
          {waitNote}
          <div className="mt-3 flex flex-wrap justify-center gap-2">
            <Link
              to="/w/$workspaceId/messages"
              params={{ workspaceId }}
              search={searchFor(messages, mode)}
              className="control"
            >
              {words.show(messages.length)}
            </Link>
            <Button onClick={again}>{words.again}</Button>
          </div>
        </Empty>
      </div>
    </main>
  )
}
