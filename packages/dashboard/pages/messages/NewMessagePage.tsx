/** Writes a message to one recipient or many, now or later, and shows it as the recipient's phone does. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { getRouteApi } from "@tanstack/react-router"
import { useState } from "react"
import type { ComponentProps } from "react"
import { call, newKey } from "../api/call.ts"
import type { Body } from "../api/operations.ts"
import { Attach, AttachmentPreview, getMedia } from "../media/Attach.tsx"
import type { Attachment } from "../media/Attach.tsx"
import { CheckField, Form, formText } from "../ui/forms.tsx"
import type { FormFields } from "../ui/forms.tsx"
import { PageHead } from "../ui/parts.tsx"
import { parseFieldTime, useZone } from "../ui/zone.ts"
import { AllMessages } from "./AllMessages.tsx"
import { FromField } from "./FromField.tsx"
import { Preview } from "./Preview.tsx"
import { parseRecipients } from "./recipients.ts"
import { SendingNotes } from "./SendingNotes.tsx"
import { notifySent } from "./SentToast.tsx"
import type { Accepted } from "./SentToast.tsx"
import { Suggestions } from "./Suggestions.tsx"
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
    mutationFn: async ({ attachment, data, mode }: Filled): Promise<Accepted> => {
      const to = parseRecipients(formText(data, "to"))
      const media = await getMedia(attachment, id, mode)
      const request = { ...toRequest(data), ...(media === null ? {} : { media }) }
      const options = { path: { id }, query: { mode }, idempotencyKey: key }
      const [only] = to
      if (only !== undefined && to.length === 1) {
        const body = { ...request, to: only }
        const message = await call("POST /admin/v1/workspaces/{id}/messages", { ...options, body })
        return { messages: [message], mode }
      }
      const answer = await call("POST /admin/v1/workspaces/{id}/messages/batch", {
        ...options,
        body: { ...request, to },
      })
      return { messages: answer.data, mode }
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
  const isLater = useIsLater()
  const { changed, ...send } = useSend(id)
  const [round, setRound] = useState(0)
  const [from, setFrom] = useState<number>()
  /** Empties the form: its other fields keep their content only as long as it does. */
  const again = (sent: Accepted) => {
    notifySent(sent, id)
    setText("")
    setTo("")
    isLater.set("")
    setAttachment({ kind: "none" })
    changed()
    setRound(round + 1)
  }
  const recipients = parseRecipients(to).length
  return (
    <main className="page gap-4">
      <PageHead title={labels.title}>
        <AllMessages workspaceId={workspaceId} />
      </PageHead>
      <div className="grid items-start gap-6 lg:grid-cols-[minmax(0,1fr)_22rem]">
        <Form
          key={round}
          className="card flex flex-col gap-4 p-5"
          action={labels.send(recipients, isLater.value)}
          call={send}
          submit={(data) => send.mutate({ data, attachment, mode }, { onSuccess: again })}
          onChange={changed}
          fields={[
            ...toAndText(id, to, setTo, text, setText, changed),
            mediaField({ id, mode, attachment, change: setAttachment }),
            optionFields({ id, mode, from, setFrom, setSendAt: isLater.set }),
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

/** Whether the form has a time to send at. A change of zone empties that field. */
const useIsLater = () => {
  const zone = useZone()
  const [typed, setTyped] = useState({ text: "", zone })
  return {
    value: typed.text !== "" && typed.zone === zone,
    set: (text: string) => setTyped({ text, zone }),
  }
}

const toAndText = (
  id: number,
  to: string,
  setTo: (to: string) => void,
  text: string,
  setText: (text: string) => void,
  changed: () => void,
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
    shows: [],
    draw: () => (
      <Suggestions
        id={id}
        to={to}
        setTo={(next) => {
          setTo(next)
          changed()
        }}
      />
    ),
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

const mediaField = (
  attached: Pick<ComponentProps<typeof Attach>, "id" | "mode" | "attachment" | "change">,
): FormFields[number] => ({
  shows: "media",
  draw: (problem) => <Attach {...attached} newUpload={newKey} problem={problem} />,
})

const optionFields = ({
  from,
  id,
  mode,
  setFrom,
  setSendAt,
}: {
  id: number
  mode: Filled["mode"]
  from: number | undefined
  setFrom: (from: number) => void
  setSendAt: (text: string) => void
}): FormFields[number] => [
  {
    shows: "from",
    draw: (problem) => (
      <FromField
        id={id}
        problem={problem}
        initial={from}
        change={setFrom}
        sends={mode === "live"}
      />
    ),
  },
  {
    name: "send at",
    shows: "send_at",
    type: "datetime-local",
    label: labels.sendAt,
    about: labels.sendAtAbout,
    change: setSendAt,
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
