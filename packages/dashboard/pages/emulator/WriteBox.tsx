/** Writes to a number of the workspace as the person with the phone that is shown. */
import { useRef, useState } from "react"
import type { SendingNumber, Sent } from "@messaging-service/client"
import { useCall } from "../api/call.ts"
import { toName } from "../numbers/connection.ts"
import { Icon } from "../ui/Icon.tsx"
import { Button } from "../ui/parts.tsx"
import { formatSize } from "../ui/size.ts"
import { phoneLabels as labels } from "./words.ts"

/** The content of a file in base64. */
const readBase64 = (file: File): Promise<string> =>
  new Promise((resolve, reject) => {
    const reader = new FileReader()
    reader.addEventListener("load", () => resolve(String(reader.result).split(",")[1] ?? ""))
    reader.addEventListener("error", () => reject(new TypeError("the file cannot be read")))
    reader.readAsDataURL(file)
  })

const toKind = ({ type }: File) =>
  (["image", "video", "audio"] as const).find((kind) => type.startsWith(`${kind}/`)) ??
  ("document" as const)

/** What the person sends. */
const toMessage = async (phone: string, text: string, file: File | null, quoted: Sent | null) => ({
  from: { phone },
  text,
  ...(file !== null && {
    kind: toKind(file),
    media: { file_name: file.name, data: await readBase64(file) },
  }),
  ...(quoted?.message_id != null && { reply_to: { message_id: quoted.message_id } }),
})

export const WriteBox = ({
  last,
  numbers,
  phone,
  quote,
  quoted,
}: {
  numbers: ReadonlyArray<SendingNumber>
  phone: string
  /** The number of the last message on the phone. */
  last: number | undefined
  quoted: Sent | null
  quote: (copy: Sent | null) => void
}) => {
  const [text, setText] = useState("")
  const [file, setFile] = useState<File | null>(null)
  const [chosen, setChosen] = useState<number | undefined>(undefined)
  const number = chosen ?? last ?? numbers[0]?.id
  const write = useCall("POST /admin/v1/simulator/numbers/{number_id}/received-messages", () => {
    setText("")
    setFile(null)
    quote(null)
  })
  if (number === undefined) return null
  const submit = async () => {
    if ((text.trim() === "" && file === null) || write.isPending) return
    const body = await toMessage(phone, text, file, quoted)
    write.mutate({ path: { number_id: number }, body })
  }
  return (
    <form
      className="flex flex-col gap-1.5 border-t border-line bg-surface p-2"
      onSubmit={(event) => {
        event.preventDefault()
        void submit()
      }}
    >
      <Attachments quoted={quoted} quote={quote} file={file} setFile={setFile} />
      {numbers.length > 1 && <To numbers={numbers} number={number} choose={setChosen} />}
      <div className="flex gap-2">
        <AttachFile choose={setFile} />
        <input
          aria-label={labels.writeAs(phone)}
          value={text}
          onChange={({ target }) => setText(target.value)}
          placeholder={labels.writePlaceholder}
          className="control min-w-0 grow justify-start rounded-full px-3"
        />
        <Button
          type="submit"
          busy={write.isPending}
          aria-label={labels.write}
          className="size-8 rounded-full px-0 pointer-coarse:size-10"
        >
          <Icon name="send" />
        </Button>
      </div>
      <Refusal error={write.error} />
    </form>
  )
}

const To = ({
  choose,
  number,
  numbers,
}: {
  numbers: ReadonlyArray<SendingNumber>
  number: number
  choose: (id: number) => void
}) => (
  <select
    aria-label={labels.to}
    value={number}
    onChange={({ target }) => choose(Number(target.value))}
    className="control w-full justify-start border-line text-xs"
  >
    {numbers.map((one) => (
      <option key={one.id} value={one.id}>
        {labels.toName(toName(one))}
      </option>
    ))}
  </select>
)

export const Refusal = ({ error }: { error: Error | null }) =>
  error && (
    <p role="alert" className="text-xs text-red">
      {error.message}
    </p>
  )

/** What goes with the text. */
const Attachments = ({
  file,
  quote,
  quoted,
  setFile,
}: {
  quoted: Sent | null
  quote: (copy: Sent | null) => void
  file: File | null
  setFile: (file: File | null) => void
}) => (
  <>
    {quoted !== null && (
      <AttachedLine
        text={labels.quoting(quoted.text)}
        drop={() => quote(null)}
        name={labels.dropQuote}
      />
    )}
    {file !== null && (
      <AttachedLine
        text={labels.attached(file.name, formatSize(file.size))}
        drop={() => setFile(null)}
        name={labels.dropFile}
      />
    )}
  </>
)

/** One of it, and a way to leave it out. */
const AttachedLine = ({ drop, name, text }: { text: string; name: string; drop: () => void }) => (
  <p className="flex items-center gap-2 border-l-2 border-accent pl-2 text-xs text-soft">
    <span className="min-w-0 grow truncate">{text}</span>
    <button
      type="button"
      aria-label={name}
      onClick={drop}
      className="grid size-6 shrink-0 cursor-pointer place-items-center rounded hover:bg-sunken"
    >
      <Icon name="cross" />
    </button>
  </p>
)

const AttachFile = ({ choose }: { choose: (file: File) => void }) => {
  const input = useRef<HTMLInputElement>(null)
  return (
    <>
      <input
        ref={input}
        type="file"
        hidden
        onChange={({ target }) => {
          const [chosen] = target.files ?? []
          // The same file may be chosen again.
          target.value = ""
          if (chosen !== undefined) choose(chosen)
        }}
      />
      <Button
        aria-label={labels.attach}
        title={labels.attach}
        onClick={() => input.current?.click()}
        className="size-8 rounded-full px-0 pointer-coarse:size-10"
      >
        <Icon name="file" />
      </Button>
    </>
  )
}
