/** Sends a real message of the workspace to the shown phone. */
import { Link } from "@tanstack/react-router"
import { useState } from "react"
import type { SendingNumber } from "@messaging-service/client"
import { useCall } from "../api/call.ts"
import { toName } from "../numbers/connection.ts"
import { Icon } from "../ui/Icon.tsx"
import { Button, Empty } from "../ui/parts.tsx"
import { pageNames } from "../ui/words.ts"
import { Refusal } from "./WriteBox.tsx"
import { emulatorLabels as labels } from "./words.ts"

export const Compose = ({
  numbers,
  to,
  workspaceId,
}: {
  workspaceId: number
  numbers: ReadonlyArray<SendingNumber>
  to: string
}) => {
  const [text, setText] = useState("")
  const [chosen, setChosen] = useState<number | undefined>(undefined)
  // The service chooses none of several connected numbers by itself.
  const from = chosen ?? numbers.find(({ status }) => status === "connected")?.id ?? numbers[0]?.id
  const send = useCall("POST /admin/v1/workspaces/{id}/messages", () => setText(""))
  if (numbers.length === 0)
    return (
      <Empty title={labels.noNumber}>
        <p className="mb-3">{labels.noNumberAbout}</p>
        <Link to="/w/$workspaceId/numbers" from="/w/$workspaceId/emulator" className="control">
          {pageNames.numbers}
        </Link>
      </Empty>
    )
  return (
    <form
      className="flex flex-col gap-2"
      onSubmit={(event) => {
        event.preventDefault()
        if (text.trim() === "" || send.isPending) return
        const body = { to: { phone: to }, text, ...(from === undefined ? {} : { from }) }
        send.mutate({ path: { id: workspaceId }, body })
      }}
    >
      {numbers.length > 1 && <From numbers={numbers} from={from} choose={setChosen} />}
      <div className="flex gap-2">
        <input
          aria-label={labels.messageTo(to)}
          value={text}
          onChange={(event) => setText(event.target.value)}
          placeholder={labels.placeholder}
          className="control h-10 min-w-0 grow justify-start rounded-full px-4"
        />
        <Button
          type="submit"
          variant="primary"
          busy={send.isPending}
          aria-label={labels.send}
          className="size-10 rounded-full px-0"
        >
          <Icon name="send" />
        </Button>
      </div>
      {send.data && <Accepted id={send.data.id} workspaceId={workspaceId} />}
      <Refusal error={send.error} />
    </form>
  )
}

/** The phone shows it once it arrives; until then the message says why it waits. */
const Accepted = ({ id, workspaceId }: { id: number; workspaceId: number }) => (
  <p role="status" className="px-1 text-xs text-soft">
    {labels.accepted}
    <Link
      className="underline"
      to="/w/$workspaceId/messages"
      params={{ workspaceId: String(workspaceId) }}
      search={{ open: id }}
    >
      {labels.message(id)}
    </Link>
    .
  </p>
)

const From = ({
  choose,
  from,
  numbers,
}: {
  numbers: ReadonlyArray<SendingNumber>
  from: number | undefined
  choose: (id: number) => void
}) => (
  <select
    aria-label={labels.from}
    value={from}
    onChange={(event) => choose(Number(event.target.value))}
    className="control w-full justify-start border-line text-xs"
  >
    {numbers.map((number) => (
      <option key={number.id} value={number.id}>
        {labels.fromName(toName(number))}
      </option>
    ))}
  </select>
)
