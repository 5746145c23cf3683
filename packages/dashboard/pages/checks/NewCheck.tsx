/** Asks about phones, pasted or from a file; more than 1,000 become several checks. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { NumberCheck } from "@messaging-service/client"
import { Refused, call, newKey } from "../api/call.ts"
import { FromField } from "../messages/FromField.tsx"
import { decodeText, findColumns, parseCsv } from "../ui/csv.ts"
import { FormDialog } from "../ui/Dialog.tsx"
import { FileField, TextArea, fieldProblem, formText } from "../ui/forms.tsx"
import { phonePattern, requestParts, partMax, partsFor, phonesIn } from "./parts.ts"
import type { Part, PhoneLine, RequestedCheck } from "./parts.ts"
import { checksLabels, newCheckLabels as labels } from "./words.ts"

const phonesMax = 10_000
const fileBytesMax = 10 * 1024 * 1024

/** Null for a file that cannot be read. */
const getPhones = async (file: File): Promise<ReadonlyArray<string> | null> => {
  if (file.size > fileBytesMax) return null
  const text = decodeText(new Uint8Array(await file.arrayBuffer()))
  if (text === undefined || text.includes("\0")) return null
  const rows = parseCsv(text)
  const { hasHeader, recipients } = findColumns(rows)
  const phones = rows.slice(hasHeader ? 1 : 0).map((cells) => cells[recipients] ?? "")
  return phones.length === 0 ? null : phones
}

/** Starts the checks one after the other; a try after a failure starts none twice. */
const useStart = (id: number, done: (checks: ReadonlyArray<NumberCheck>) => void) => {
  const client = useQueryClient()
  const [known, setKnown] = useState<ReadonlyArray<Part>>([])
  const [failed, setFailed] = useState<Part | null>(null)
  const start = useMutation({
    mutationFn: async (requested: RequestedCheck) => {
      const outcome = await requestParts(partsFor(requested, known, newKey), ({ body, key }) =>
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
const getRefusal = (
  error: Error | null,
  failed: Part | null,
  phones: ReadonlyArray<PhoneLine>,
): string | undefined => {
  const message = fieldProblem(error, "phones")
  const [, index] = /\[(\d+)\]/.exec((error instanceof Refused && error.field) || "") ?? []
  const phone = index === undefined ? undefined : failed?.body.phones[Number(index)]
  const line = phones.find((each) => each.phone === phone)?.line
  return message === undefined || line === undefined ? message : labels.refused(line, message)
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
    const added = file === undefined ? [] : await getPhones(file)
    setUnreadable(added === null)
    setText((before) => [before, ...(added ?? [])].filter((line) => line.trim() !== "").join("\n"))
  }
  return (
    <>
      <TextArea
        label={labels.phones}
        about={labels.phonesAbout(count)}
        problem={problem}
        value={text}
        onChange={({ target: { value } }) => setText(() => value)}
        rows={6}
        required
        autoFocus
      />
      <FileField
        accept=".csv,.tsv,.txt,text/csv,text/plain"
        label={labels.file}
        about={labels.fileAbout}
        problem={isUnreadable ? labels.noFile : undefined}
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
    if (phones.length > phonesMax) return labels.tooMany
    if (wasSubmitted && wrong.length > 0) return labels.wrong(wrong)
    return getRefusal(start.error, start.failed, phones)
  }
  const submit = (data: FormData) => {
    setSubmitted(true)
    if (phones.length > phonesMax || wrong.length > 0) return
    const from = formText(data, "from")
    start.mutate({
      phones: phones.map(({ phone }) => phone),
      name: formText(data, "name"),
      from: from === "" ? null : Number(from),
    })
  }
  const parts = Math.ceil(phones.length / partMax)
  return (
    <FormDialog
      title={checksLabels.add}
      action={labels.start(phones.length)}
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
        { name: "name", label: labels.name, about: labels.nameAbout, maxLength: 90 },
      ]}
    >
      {parts > 1 && <p className="text-sm text-soft">{labels.parts(parts)}</p>}
    </FormDialog>
  )
}
