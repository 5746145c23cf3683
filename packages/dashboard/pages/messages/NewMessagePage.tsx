/** Writes a message to one recipient or many, now or later, and shows it as the recipient's phone does. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { Link, getRouteApi } from "@tanstack/react-router"
import { useState } from "react"
import type { Message } from "@messaging-service/client"
import { call, newKey } from "../api/call.ts"
import type { Body } from "../api/operations.ts"
import { Attach, AttachmentPreview, getMedia } from "../media/Attach.tsx"
import type { Attachment } from "../media/Attach.tsx"
import { useWaitNote } from "../numbers/StandingSentence.tsx"
import { CheckField, Form, formText } from "../ui/forms.tsx"
import type { FormFields } from "../ui/forms.tsx"
import { Button, Empty, PageHead } from "../ui/parts.tsx"
import { parseFieldTime } from "../ui/zone.ts"
import { AllMessages } from "./AllMessages.tsx"
import { FromField } from "./FromField.tsx"
import type { MessageSearch } from "./messageSearch.ts"
import { Preview } from "./Preview.tsx"
import { parseRecipients } from "./recipients.ts"
import { SendingNotes } from "./SendingNotes.tsx"
import { newMessageLabels as labels } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/messages/new")

const textMax = 3000

const toRequest = (
  data: FormData,
): Omit<Body<"POST /admin/v1/workspaces/{id}/messages/batch">, "to"> => {
  const from = formText(data, "from")
  const message = formText(data, "text")
  const reference = formText(data, "reference")
  return {
    ...(from === "" ? {} : { from: Number(from) }),
    ...(message === "" ? {} : { text: message }),
    send_at: parseFieldTime(formText(data, "send at")),
    expires_at: parseFieldTime(formText(data, "expires at")),
    ...(reference === "" ? {} : { reference }),
  }
}

interface Filled {
  readonly data: FormData
  readonly attachment: Attachment
  readonly mode: "live" | "test"
}

/** Sends what the form describes; a repeat after a lost answer sends nothing twice. */
const useSend = (id: number) => {
  const client = useQueryClient()
  const [key, setKey] = useState(() => newKey())
  const mutation = useMutation({
    mutationFn: async ({ attachment, data, mode }: Filled): Promise<ReadonlyArray<Message>> => {
      const to = parseRecipients(formText(data, "to"))
      const media = await getMedia(attachment, id, mode)
      const request = { ...toRequest(data), ...(media === null ? {} : { media }) }
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
  const [mode, setMode] = useState<Filled["mode"]>("live")
  const [text, setText] = useState("")
  const [to, setTo] = useState("")
  const { changed, ...send } = useSend(id)
  const again = () => {
    setText("")
    setTo("")
    setAttachment({ kind: "none" })
    changed()
    send.reset()
  }
  if (send.data !== undefined)
    return <Accepted messages={send.data} mode={mode} workspaceId={workspaceId} again={again} />
  const recipients = parseRecipients(to).length
  return (
    <main className="flex max-w-5xl flex-col gap-4 p-4 md:p-6">
      <PageHead title={labels.title}>
        <AllMessages workspaceId={workspaceId} />
      </PageHead>
      <div className="grid items-start gap-6 lg:grid-cols-[minmax(0,1fr)_22rem]">
        <Form
          className="card flex flex-col gap-4 p-5"
          action={labels.send(recipients)}
          call={send}
          submit={(data) => send.mutate({ data, attachment, mode })}
          onChange={changed}
          fields={[
            ...toAndText(to, setTo, text, setText),
            {
              shows: "media",
              draw: (problem) => (
                <Attach
                  id={id}
                  mode={mode}
                  attachment={attachment}
                  change={setAttachment}
                  newUpload={newKey}
                  problem={problem}
                />
              ),
            },
            optionFields(id, mode),
          ]}
        >
          <CheckField
            label={labels.test}
            checked={mode === "test"}
            onChange={(event) => setMode(event.target.checked ? "test" : "live")}
          />
          <SendingNotes id={id} />
        </Form>
        <div className="lg:sticky lg:top-6">
          <Preview
            text={text}
            empty={attachment.kind === "none" ? labels.previewEmpty : ""}
            media={<AttachmentPreview attachment={attachment} id={id} mode={mode} />}
          />
        </div>
      </div>
    </main>
  )
}

const toAndText = (
  to: string,
  setTo: (to: string) => void,
  text: string,
  setText: (text: string) => void,
): FormFields => [
  {
    name: "to",
    label: labels.to,
    about: labels.toAbout(parseRecipients(to).length),
    value: to,
    change: setTo,
    rows: Math.min(6, Math.max(1, to.split("\n").length)),
    required: true,
    autoFocus: true,
  },
  {
    name: "text",
    label: labels.text,
    about: labels.textAbout(textMax - text.length),
    value: text,
    change: setText,
    rows: 5,
  },
]

const optionFields = (id: number, mode: Filled["mode"]): FormFields[number] => [
  {
    shows: "from",
    draw: (problem) => <FromField id={id} problem={problem} sends={mode === "live"} />,
  },
  {
    name: "send at",
    shows: "send_at",
    type: "datetime-local",
    label: labels.sendAt,
    about: labels.sendAtAbout,
  },
  {
    name: "expires at",
    shows: "expires_at",
    type: "datetime-local",
    label: labels.expiresAt,
    about: labels.expiresAtAbout,
  },
  { name: "reference", maxLength: 200, label: labels.reference, about: labels.referenceAbout },
]

/** The list with what was sent: one message opened, of several those that are as new as the first of them. */
const searchFor = (messages: ReadonlyArray<Message>, mode: Filled["mode"]): MessageSearch => ({
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
  mode: Filled["mode"]
  workspaceId: string
  again: () => void
}) => {
  const numberId = mode === "live" ? messages[0]?.from.id : undefined
  const waitNote = useWaitNote(Number(workspaceId), numberId)
  return (
    <main className="flex max-w-5xl flex-col gap-4 p-4 md:p-6">
      <PageHead title={labels.title}>
        <AllMessages workspaceId={workspaceId} />
      </PageHead>
      <div className="card">
        <Empty icon={waitNote === null ? "tick" : "clock"} title={labels.accepted(messages.length)}>
          <span role="status" className="sr-only">
            {labels.accepted(messages.length)}
          </span>
          {waitNote}
          <div className="mt-3 flex flex-wrap justify-center gap-2">
            <Link
              to="/w/$workspaceId/messages"
              params={{ workspaceId }}
              search={searchFor(messages, mode)}
              className="control"
            >
              {labels.show(messages.length)}
            </Link>
            <Button onClick={again}>{labels.again}</Button>
          </div>
        </Empty>
      </div>
    </main>
  )
}
