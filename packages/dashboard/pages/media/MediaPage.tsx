/** The files of a workspace: upload, look at, link, send, delete. */
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { MediaFile } from "@messaging-service/client"
import { ownLink } from "../api/upload.ts"
import { useCall } from "../api/useCall.ts"
import { Confirm, Dialog } from "../ui/Dialog.tsx"
import { SelectField } from "../ui/forms.tsx"
import { useList } from "../ui/list.ts"
import { Button, Empty, Fact, PageHead, Secret } from "../ui/parts.tsx"
import { sizeOf } from "../ui/size.ts"
import { PagedTable, RowButton, rowButton } from "../ui/Table.tsx"
import type { Columns } from "../ui/Table.tsx"
import { When } from "../ui/Time.tsx"
import { StorageUsed } from "./StorageUsed.tsx"
import { Upload } from "./Upload.tsx"
import { mediaWords as words } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/media")

const columns: Columns<MediaFile> = [
  { name: words.name, cell: (file) => <FileName file={file} /> },
  { name: words.type, wide: true, cell: (file) => file.mime_type },
  {
    name: words.size,
    wide: true,
    right: true,
    look: "tabular-nums",
    cell: ({ size }) => sizeOf(size),
  },
  { name: words.made, wide: true, right: true, cell: (file) => <When at={file.created_at} /> },
]

const actions = (workspaceId: string, look: (file: MediaFile) => void): Columns<MediaFile> => [
  {
    name: words.actions,
    right: true,
    silent: true,
    cell: (file) => (
      <>
        <Link
          to="/w/$workspaceId/messages/new"
          params={{ workspaceId }}
          search={{ media: file.id }}
          aria-label={words.sendNamed(file.file_name)}
          className={`${rowButton} inline-flex items-center max-md:hidden`}
        >
          {words.send}
        </Link>
        <RowButton aria-label={words.detailsNamed(file.file_name)} onClick={() => look(file)}>
          {words.details}
        </RowButton>
      </>
    ),
  },
]

export const MediaPage = () => {
  const { workspaceId } = route.useParams()
  const id = Number(workspaceId)
  const { kind } = route.useSearch()
  const navigate = useNavigate({ from: "/w/$workspaceId/media" })
  const files = useList("GET /admin/v1/workspaces/{id}/media", {
    path: { id },
    query: { type: kind },
  })
  const [shown, setShown] = useState<MediaFile | null>(null)
  const [removing, setRemoving] = useState<MediaFile | null>(null)
  return (
    <main className="flex max-w-6xl flex-col gap-4 p-4 md:p-6">
      <PageHead title={words.title} about={<StorageUsed id={id} />} />
      <Upload id={id} />
      <div className="w-40">
        <SelectField
          label={words.kind}
          value={kind ?? ""}
          onChange={({ target: { value } }) =>
            void navigate({ search: value === "image" || value === "file" ? { kind: value } : {} })
          }
        >
          <option value="">{words.kinds.all}</option>
          <option value="image">{words.kinds.image}</option>
          <option value="file">{words.kinds.file}</option>
        </SelectField>
      </div>
      <PagedTable
        list={files}
        caption={words.caption}
        columns={[...columns, ...actions(workspaceId, setShown)]}
        empty={
          <Empty icon="image" title={kind === undefined ? words.empty : words.nothing}>
            {words.emptyAbout}
          </Empty>
        }
      />
      {shown !== null && (
        <FileDetails
          workspaceId={workspaceId}
          file={shown}
          close={() => setShown(null)}
          remove={() => {
            setShown(null)
            setRemoving(shown)
          }}
        />
      )}
      {removing !== null && <RemoveFile id={id} file={removing} close={() => setRemoving(null)} />}
    </main>
  )
}

const FileName = ({ file }: { file: MediaFile }) => (
  <a
    href={ownLink(file.url)}
    target="_blank"
    rel="noreferrer"
    aria-label={words.open(file.file_name)}
    className="relative z-1 flex min-w-0 items-center gap-3 font-medium hover:underline"
  >
    {file.type === "image" && (
      <img
        src={ownLink(file.url)}
        alt=""
        loading="lazy"
        width="32"
        height="32"
        className="size-8 shrink-0 rounded bg-sunken object-cover"
      />
    )}
    <span className="truncate">{file.file_name}</span>
  </a>
)

const FileDetails = ({
  close,
  file,
  remove,
  workspaceId,
}: {
  workspaceId: string
  file: MediaFile
  close: () => void
  remove: () => void
}) => (
  <Dialog title={file.file_name} close={close}>
    {file.type === "image" && (
      <img
        src={ownLink(file.url)}
        alt={words.picture}
        className="max-h-64 min-h-24 min-w-24 self-center rounded-lg bg-sunken object-contain"
      />
    )}
    <dl className="grid grid-cols-2 gap-4">
      <Fact name={words.type}>{file.mime_type}</Fact>
      <Fact name={words.size}>{sizeOf(file.size)}</Fact>
    </dl>
    <Secret label={words.link} text={file.url} about={words.linkAbout} />
    <div className="flex flex-wrap justify-end gap-2">
      <Button look="danger" onClick={remove}>
        {words.removeNamed(file.file_name)}
      </Button>
      <Link
        to="/w/$workspaceId/messages/new"
        params={{ workspaceId }}
        search={{ media: file.id }}
        className="control border-accent bg-accent font-medium text-on-accent hover:opacity-90"
      >
        {words.sendNamed(file.file_name)}
      </Link>
    </div>
  </Dialog>
)

const RemoveFile = ({ close, file, id }: { id: number; file: MediaFile; close: () => void }) => {
  const remove = useCall("DELETE /admin/v1/workspaces/{id}/media/{media_id}", close)
  return (
    <Confirm
      title={words.removeTitle(file.file_name)}
      action={words.remove}
      call={remove}
      act={() => remove.mutate({ path: { id, media_id: file.id } })}
      close={close}
    >
      {words.removeAbout}
    </Confirm>
  )
}
