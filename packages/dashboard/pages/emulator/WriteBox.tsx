/** Writes to a number of the workspace as the person whose phone is shown. */
import { useState } from "react"
import type { SendingNumber, Sent } from "@messaging-service/client"
import { useCall } from "../api/call.ts"
import { toName } from "../numbers/connection.ts"
import { Icon } from "../ui/Icon.tsx"
import { Button } from "../ui/parts.tsx"
import { phoneLabels as labels } from "./words.ts"

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
  const [chosen, setChosen] = useState<number | undefined>(undefined)
  const number = chosen ?? last ?? numbers[0]?.id
  const write = useCall("POST /admin/v1/simulator/numbers/{number_id}/received-messages", () => {
    setText("")
    quote(null)
  })
  if (number === undefined) return null
  const submit = () => {
    if (text.trim() === "" || write.isPending) return
    const body = {
      from: { phone },
      text,
      ...(quoted?.message_id == null ? {} : { reply_to: { message_id: quoted.message_id } }),
    }
    write.mutate({ path: { number_id: number }, body })
  }
  return (
    <form
      className="flex flex-col gap-1.5 border-t border-line bg-surface p-2"
      onSubmit={(event) => {
        event.preventDefault()
        submit()
      }}
    >
      {quoted !== null && <Quoted copy={quoted} drop={() => quote(null)} />}
      {numbers.length > 1 && <To numbers={numbers} number={number} choose={setChosen} />}
      <div className="flex gap-2">
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
      {write.error && (
        <p role="alert" className="text-xs text-red">
          {write.error.message}
        </p>
      )}
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

const Quoted = ({ copy, drop }: { copy: Sent; drop: () => void }) => (
  <p className="flex items-center gap-2 border-l-2 border-accent pl-2 text-xs text-soft">
    <span className="min-w-0 grow truncate">{labels.quoting(copy.text)}</span>
    <button
      type="button"
      aria-label={labels.dropQuote}
      onClick={drop}
      className="grid size-6 shrink-0 cursor-pointer place-items-center rounded hover:bg-sunken"
    >
      <Icon name="cross" />
    </button>
  </p>
)
