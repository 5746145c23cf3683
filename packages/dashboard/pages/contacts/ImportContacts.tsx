/** Adds the contacts of a CSV file, one after the other; what is there already stays as it is. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { Refused, call } from "../api/call.ts"
import { decodeText } from "../ui/csv.ts"
import { DoneDialog, FormDialog } from "../ui/Dialog.tsx"
import { FileField } from "../ui/forms.tsx"
import { readContacts } from "./contactsFile.ts"
import type { ContactRow, ContactsFile } from "./contactsFile.ts"
import { toBody } from "./newContact.ts"
import { importLabels as labels } from "./words.ts"

const fileBytesMax = 1024 * 1024

/** As many as an import takes some minutes for. */
const contactsMax = 1000

/** Null for a file that cannot be read. */
const readFile = async (file: File): Promise<ContactsFile | null> => {
  if (file.size > fileBytesMax) return null
  const text = decodeText(new Uint8Array(await file.arrayBuffer()))
  return text === undefined || text.includes("\0") ? null : readContacts(text)
}

interface Progress {
  readonly added: number
  readonly existing: number
  readonly rejected: ReadonlyArray<string>
}

const nothing: Progress = { added: 0, existing: 0, rejected: [] }

const count = ({ added, existing, rejected }: Progress): number =>
  added + existing + rejected.length

/** What happened to one; throws what says nothing about it, such as a lost connection. */
const addOne = async (id: number, contact: ContactRow): Promise<Progress> => {
  try {
    await call("POST /admin/v1/workspaces/{id}/contacts", { path: { id }, body: toBody(contact) })
    return { ...nothing, added: 1 }
  } catch (error) {
    if (!(error instanceof Refused)) throw error
    if (error.code === "contact_exists") return { ...nothing, existing: 1 }
    if (error.field === null) throw error
    return { ...nothing, rejected: [labels.rejected(contact.row, error.message)] }
  }
}

const useImport = (id: number) => {
  const client = useQueryClient()
  const [progress, setProgress] = useState(nothing)
  const run = useMutation({
    // A try after a failure continues where the last one stopped.
    mutationFn: async (contacts: ReadonlyArray<ContactRow>) => {
      let now = progress
      for (const contact of contacts.slice(count(progress))) {
        const one = await addOne(id, contact)
        now = {
          added: now.added + one.added,
          existing: now.existing + one.existing,
          rejected: [...now.rejected, ...one.rejected],
        }
        setProgress(now)
      }
    },
    onSettled: () => void client.invalidateQueries(),
  })
  return { progress, run, reset: () => setProgress(nothing) }
}

export const ImportContacts = ({ close, id }: { id: number; close: () => void }) => {
  const [file, setFile] = useState<ContactsFile | null>()
  const { progress, reset, run } = useImport(id)
  const contacts = file?.contacts ?? []
  const isTooLong = contacts.length > contactsMax
  if (run.isSuccess)
    return (
      <DoneDialog title={labels.title} close={close}>
        <Outcome progress={progress} incomplete={file?.incomplete ?? []} />
      </DoneDialog>
    )
  const choose = async (chosen: File | undefined) => {
    reset()
    run.reset()
    setFile(chosen === undefined ? undefined : await readFile(chosen))
  }
  return (
    <FormDialog
      title={labels.title}
      action={labels.action(contacts.length)}
      call={run}
      submit={() => contacts.length > 0 && !isTooLong && run.mutate(contacts)}
      close={close}
      fields={[
        {
          shows: [],
          draw: () => (
            <FileField
              accept=".csv,.tsv,.txt,text/csv,text/plain"
              label={labels.file}
              about={labels.fileAbout}
              problem={toProblem(file, isTooLong)}
              required
              choose={(chosen) => void choose(chosen)}
            />
          ),
        },
      ]}
    >
      {file && <Incomplete rows={file.incomplete} />}
      {run.isPending && (
        <progress
          aria-label={labels.progress}
          max={contacts.length}
          value={count(progress)}
          className="h-1.5 w-full"
        />
      )}
    </FormDialog>
  )
}

const toProblem = (
  file: ContactsFile | null | undefined,
  isTooLong: boolean,
): string | undefined => {
  if (file === null) return labels.unreadable
  if (isTooLong) return labels.tooMany(contactsMax)
  return file?.contacts.length === 0 ? labels.nothing : undefined
}

const Incomplete = ({ rows }: { rows: ReadonlyArray<number> }) =>
  rows.length > 0 && <p className="text-sm text-amber">{labels.incomplete(rows)}</p>

const Outcome = ({
  incomplete,
  progress: { added, existing, rejected },
}: {
  progress: Progress
  incomplete: ReadonlyArray<number>
}) => (
  <div className="flex flex-col gap-2">
    <p role="status">{labels.done(added, existing)}</p>
    <Incomplete rows={incomplete} />
    {rejected.length > 0 && (
      <ul className="max-h-40 overflow-y-auto text-sm text-red">
        {rejected.map((one) => (
          <li key={one}>{one}</li>
        ))}
      </ul>
    )}
  </div>
)
