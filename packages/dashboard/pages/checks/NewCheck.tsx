/** Asks about phones, pasted or from a file; more than 1,000 become several checks. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { NumberCheck } from "@messaging-service/client"
import { Refused, call, newKey } from "../api/call.ts"
import { phonePattern } from "../file/plan.ts"
import { openFile } from "../file/sheet.ts"
import { FromField } from "../messages/FromField.tsx"
import { FormDialog } from "../ui/Dialog.tsx"
import { FileField, TextArea, fieldProblem, textOf } from "../ui/forms.tsx"
import { askParts, partMax, partsFor, phonesIn } from "./parts.ts"
import type { Part, PhoneLine, WantedCheck } from "./parts.ts"
import { checksWords, newCheckWords as words } from "./words.ts"

const phonesMax = 10_000

/** Null for a file that cannot be read. */
const phonesOf = async (file: File): Promise<ReadonlyArray<string> | null> => {
  const opened = await openFile(file)
  if ("problems" in opened) return null
  const { recipients, rows } = opened.sheet
  return rows.map(({ cells }) => cells[recipients] ?? "")
}

/** Starts the checks one after the other; a try after a failure starts none twice. */
const useStart = (id: number, done: (checks: ReadonlyArray<NumberCheck>) => void) => {
  const client = useQueryClient()
  const [known, setKnown] = useState<ReadonlyArray<Part>>([])
  const [failed, setFailed] = useState<Part | null>(null)
  const start = useMutation({
    mutationFn: async (wanted: WantedCheck) => {
      const outcome = await askParts(partsFor(wanted, known, newKey), ({ body, key }) =>
        call("POST /admin/v1/workspaces/{id}/number-checks", {
          path: { id },
          idempotencyKey: key,
          body,
        }),
      )
      setKnown(outcome.known)
      setFailed(outcome.failed)
      if (outcome.failed !== null) throw outcome.error
      return outcome.known.flatMap(({ check }) => check ?? [])
    },
    onSuccess: done,
    onSettled: () => void client.invalidateQueries(),
  })
  return { ...start, failed }
}

/** What the service says of a phone, with the phone's line. */
const refusalOf = (
  error: Error | null,
  failed: Part | null,
  phones: ReadonlyArray<PhoneLine>,
): string | undefined => {
  const says = fieldProblem(error, "phones")
  const [, index] = /\[(\d+)\]/.exec((error instanceof Refused && error.field) || "") ?? []
  const phone = index === undefined ? undefined : failed?.body.phones[Number(index)]
  const line = phones.find((each) => each.phone === phone)?.line
  return says === undefined || line === undefined ? says : words.refused(line, says)
}

const Phones = ({
  count,
  problem,
  setText,
  text,
}: {
  count: number
  problem: string | undefined
  text: string
  setText: (change: (before: string) => string) => void
}) => {
  const [isUnreadable, setUnreadable] = useState(false)
  const addFile = async (file: File | undefined) => {
    const added = file === undefined ? [] : await phonesOf(file)
    setUnreadable(added === null)
    setText((before) => [before, ...(added ?? [])].filter((line) => line.trim() !== "").join("\n"))
  }
  return (
    <>
      <TextArea
        label={words.phones}
        about={words.phonesAbout(count)}
        problem={problem}
        value={text}
        onChange={({ target: { value } }) => setText(() => value)}
        rows={6}
        required
        autoFocus
      />
      <FileField
        accept=".csv,.tsv,.txt,text/csv,text/plain"
        label={words.file}
        about={words.fileAbout}
        problem={isUnreadable ? words.noFile : undefined}
        choose={(file) => void addFile(file)}
      />
    </>
  )
}

export const NewCheck = ({ close, id }: { id: number; close: () => void }) => {
  const navigate = useNavigate()
  const [text, setText] = useState("")
  const [wasSubmitted, setSubmitted] = useState(false)
  const start = useStart(id, ([first, ...others]) => {
    close()
    if (first !== undefined && others.length === 0)
      void navigate({
        to: "/w/$workspaceId/number-checks/$checkId",
        params: { workspaceId: String(id), checkId: String(first.id) },
      })
  })
  const phones = phonesIn(text)
  const wrong = phones.filter(({ phone }) => !phonePattern.test(phone))
  const problem = () => {
    if (phones.length > phonesMax) return words.tooMany
    if (wasSubmitted && wrong.length > 0) return words.wrong(wrong)
    return refusalOf(start.error, start.failed, phones)
  }
  const submit = (data: FormData) => {
    setSubmitted(true)
    if (phones.length > phonesMax || wrong.length > 0) return
    const from = textOf(data, "from")
    start.mutate({
      phones: phones.map(({ phone }) => phone),
      name: textOf(data, "name"),
      from: from === "" ? null : Number(from),
    })
  }
  const parts = Math.ceil(phones.length / partMax)
  return (
    <FormDialog
      title={checksWords.add}
      action={words.start(phones.length)}
      call={start}
      submit={submit}
      close={close}
      fields={[
        {
          shows: "phones",
          draw: () => (
            <Phones count={phones.length} problem={problem()} text={text} setText={setText} />
          ),
        },
        { shows: "from", draw: (refused) => <FromField id={id} problem={refused} /> },
        { name: "name", label: words.name, about: words.nameAbout, maxLength: 90 },
      ]}
    >
      {parts > 1 && <p className="text-sm text-soft">{words.parts(parts)}</p>}
    </FormDialog>
  )
}
