/** The files of a workspace: upload, look at, link, send, delete. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { MediaFile } from "@messaging-service/client"
import { asked, call, newKey } from "../api/call.ts"
import { ownLink, upload } from "../api/upload.ts"
import { ConfirmCall, Dialog } from "../ui/Dialog.tsx"
import { FileField, SelectField } from "../ui/forms.tsx"
import { useList } from "../ui/list.ts"
import { Button, Fact, Failure, PageHead, Secret } from "../ui/parts.tsx"
import { sizeOf } from "../ui/size.ts"
import { PagedTable, RowButton, rowButton } from "../ui/Table.tsx"
import type { Columns } from "../ui/Table.tsx"
import { When } from "../ui/Time.tsx"
import { attachWords, mediaWords as words } from "./words.ts"

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
          options={[
            ["", words.kinds.all],
            ["image", words.kinds.image],
            ["file", words.kinds.file],
          ]}
        />
      </div>
      <PagedTable
        list={files}
        caption={words.caption}
        columns={[...columns, ...actions(workspaceId, setShown)]}
        empty={["image", kind === undefined ? words.empty : words.nothing, words.emptyAbout]}
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
      {removing !== null && (
        <ConfirmCall
          name="DELETE /admin/v1/workspaces/{id}/media/{media_id}"
          input={{ path: { id, media_id: removing.id } }}
          title={words.removeTitle(removing.file_name)}
          action={words.remove}
          close={() => setRemoving(null)}
        >
          {words.removeAbout}
        </ConfirmCall>
      )}
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

/** Uploads a file as soon as it is chosen; a try after a lost answer stores it once. */
const Upload = ({ id }: { id: number }) => {
  const client = useQueryClient()
  const [share, setShare] = useState(0)
  const { data, error, isPending, mutate, variables } = useMutation({
    mutationFn: ({ file, key }: { file: File; key: string }) =>
      upload({
        workspaceId: id,
        file,
        mode: "live",
        idempotencyKey: key,
        progress: setShare,
      }),
    onSettled: () => void client.invalidateQueries(),
  })
  const choose = (file: File | undefined) => {
    if (file === undefined || isPending) return
    setShare(0)
    mutate({ file, key: newKey() })
  }
  return (
    <div className="card flex flex-col gap-3 p-5">
      <FileField
        // The same file can be chosen again after a failure.
        key={data?.id}
        label={words.upload}
        about={attachWords.sizeAbout}
        choose={choose}
      />
      <div role="status" className="text-sm empty:hidden">
        {isPending && (
          <span className="flex items-center gap-3">
            <span className="truncate">{words.uploading(variables.file.name)}</span>
            <progress
              aria-label={words.uploading(variables.file.name)}
              max={1}
              value={share}
              className="h-1.5 w-40"
            />
          </span>
        )}
        {data && !isPending && words.uploaded(data.file_name)}
      </div>
      {error && <Failure error={error} again={() => variables && mutate(variables)} />}
    </div>
  )
}

/** Sizes are added up over so many pages of 100 files. */
const pagesMax = 10

/** What the listed files take; copies that waiting messages keep count as well, and no operation tells them. */
const sumOf = async (id: number, signal: AbortSignal) => {
  let bytes = 0
  let count = 0
  let cursor: string | undefined
  for (let page = 0; page < pagesMax; page += 1) {
    const { data, next_cursor: next } = await call("GET /admin/v1/workspaces/{id}/media", {
      path: { id },
      query: { limit: 100, cursor },
      signal,
    })
    bytes += data.reduce((sum, { size }) => sum + size, 0)
    count += data.length
    if (next === null) return { bytes, count, isAll: true }
    cursor = next
  }
  return { bytes, count, isAll: false }
}

/** How much the workspace's files take of what its plan gives. */
const StorageUsed = ({ id }: { id: number }) => {
  const workspace = useQuery(asked("GET /admin/v1/workspaces/{id}", { path: { id } }))
  const used = useQuery({
    queryKey: ["workspaces", id, "storage used"],
    queryFn: ({ signal }) => sumOf(id, signal),
    refetchInterval: false,
  })
  const limit = workspace.data?.plan?.media_storage_bytes
  return (
    <>
      {limit === undefined ? words.aboutNoPlan : words.about(sizeOf(limit))}
      {used.data && (
        <span className="inline-flex items-center gap-2 text-xs max-md:flex max-md:pt-1 md:ml-3">
          {limit !== undefined && (
            <progress
              aria-label={words.storage}
              max={limit}
              value={used.data.bytes}
              className="h-1.5 w-20"
            />
          )}
          {used.data.isAll
            ? words.used(sizeOf(used.data.bytes), used.data.count)
            : words.usedAtLeast(sizeOf(used.data.bytes))}
        </span>
      )}
    </>
  )
}
