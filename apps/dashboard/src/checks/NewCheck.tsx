/** Asks about phones, pasted or from a file; more than 1,000 become several checks. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { FormEvent } from "react"
import type { NumberCheck } from "@messaging-service/client"
import { call } from "../api/call.ts"
import { newKey } from "../api/newKey.ts"
import { openFile } from "../file/openFile.ts"
import { FromField } from "../messages/FromField.tsx"
import { Dialog } from "../ui/Dialog.tsx"
import { FileField, FormEnd, TextArea, TextField, fieldProblem, textOf } from "../ui/forms.tsx"
import { checksWords, newCheckWords as words } from "./words.ts"

const phonesMax = 10_000
const checkMax = 1000

const phonesIn = (text: string): ReadonlyArray<string> => [
  ...new Set(
    text
      .split(/[\n,;\t]+/)
      .map((part) => part.replaceAll(/[\s()-]/g, ""))
      .filter((part) => part !== ""),
  ),
]

const partsOf = (phones: ReadonlyArray<string>): ReadonlyArray<ReadonlyArray<string>> =>
  Array.from({ length: Math.ceil(phones.length / checkMax) }, (_, index) =>
    phones.slice(index * checkMax, (index + 1) * checkMax),
  )

/** Null for a file that cannot be read. */
const phonesOf = async (file: File): Promise<ReadonlyArray<string> | null> => {
  const opened = await openFile(file)
  if ("problems" in opened) return null
  const { recipients, rows } = opened.sheet
  return rows.map(({ cells }) => cells[recipients] ?? "")
}

/** Starts the checks one after the other; a try after a lost answer starts none twice. */
const useStart = (id: number, done: (checks: ReadonlyArray<NumberCheck>) => void) => {
  const client = useQueryClient()
  const [key, setKey] = useState(newKey)
  const start = useMutation({
    mutationFn: async ({
      from,
      name,
      text,
    }: {
      text: string
      name: string
      from: number | null
    }) => {
      const parts = partsOf(phonesIn(text))
      const checks: Array<NumberCheck> = []
      for (const [index, phones] of parts.entries()) {
        const part = parts.length === 1 ? name : `${name} ${index + 1}/${parts.length}`.trim()
        checks.push(
          await call("POST /admin/v1/workspaces/{id}/number-checks", {
            path: { id },
            idempotencyKey: `${key}-${index}`,
            body: { phones, from, name: part === "" ? null : part },
          }),
        )
      }
      return checks
    },
    onSuccess: done,
    onSettled: () => void client.invalidateQueries(),
  })
  return { ...start, changed: () => setKey(newKey()) }
}

export const NewCheck = ({ close, id }: { id: number; close: () => void }) => {
  const navigate = useNavigate()
  const [text, setText] = useState("")
  const [isUnreadable, setUnreadable] = useState(false)
  const start = useStart(id, ([first, ...others]) => {
    close()
    if (first !== undefined && others.length === 0)
      void navigate({
        to: "/w/$workspaceId/number-checks/$checkId",
        params: { workspaceId: String(id), checkId: String(first.id) },
      })
  })
  const phones = phonesIn(text)
  const addFile = async (file: File | undefined) => {
    const added = file === undefined ? [] : await phonesOf(file)
    setUnreadable(added === null)
    setText((before) => [before, ...(added ?? [])].filter((line) => line.trim() !== "").join("\n"))
    start.changed()
  }
  const submit = (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault()
    if (start.isPending || phones.length > phonesMax) return
    const data = new FormData(event.currentTarget)
    const from = textOf(data, "from")
    start.mutate({ text, name: textOf(data, "name"), from: from === "" ? null : Number(from) })
  }
  const parts = Math.ceil(phones.length / checkMax)
  return (
    <Dialog title={checksWords.add} close={close}>
      <form className="flex flex-col gap-4" onSubmit={submit} onChange={start.changed}>
        <TextArea
          label={words.phones}
          about={words.phonesAbout(phones.length)}
          problem={phones.length > phonesMax ? words.tooMany : fieldProblem(start.error, "phones")}
          value={text}
          onChange={(event) => setText(event.target.value)}
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
        <FromField id={id} problem={fieldProblem(start.error, "from")} />
        <TextField
          name="name"
          label={words.name}
          about={words.nameAbout}
          problem={fieldProblem(start.error, "name")}
          maxLength={90}
        />
        {parts > 1 && <p className="text-sm text-soft">{words.parts(parts)}</p>}
        <FormEnd
          action={words.start(phones.length)}
          busy={start.isPending}
          error={start.error}
          fields={["phones", "from", "name"]}
          close={close}
        />
      </form>
    </Dialog>
  )
}
