/** The files of a workspace: upload, look at, link, send, delete. */
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query"
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router"
import { useRef, useState } from "react"
import type { MediaFile } from "@messaging-service/client"
import { operationQuery, call, newKey } from "../api/call.ts"
import { ownLink, upload } from "../api/upload.ts"
import { ConfirmCall, Dialog } from "../ui/Dialog.tsx"
import { SelectField } from "../ui/forms.tsx"
import { useList } from "../ui/list.ts"
import { Button, Fact, Failure, PageHead, Secret, primaryLink } from "../ui/parts.tsx"
import { formatSize } from "../ui/size.ts"
import { PagedTable, RowButton, rowButton } from "../ui/Table.tsx"
import type { Columns } from "../ui/Table.tsx"
import { When } from "../ui/Time.tsx"
import { attachLabels, mediaLabels as labels } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/media")

const columns: Columns<MediaFile> = [
  { name: labels.name, cell: (file) => <FileName file={file} /> },
  { name: labels.type, wide: true, cell: (file) => file.mime_type },
  {
    name: labels.size,
    wide: true,
    right: true,
    tone: "tabular-nums",
    cell: ({ size }) => formatSize(size),
  },
  { name: labels.made, wide: true, right: true, cell: (file) => <When at={file.created_at} /> },
]

const actions = (workspaceId: string, tone: (file: MediaFile) => void): Columns<MediaFile> => [
  {
    name: labels.actions,
    right: true,
    silent: true,
    cell: (file) => (
      <>
        <Link
          to="/w/$workspaceId/messages/new"
          params={{ workspaceId }}
          search={{ media: file.id }}
          aria-label={labels.sendNamed(file.file_name)}
          className={`${rowButton} inline-flex items-center max-md:hidden`}
        >
          {labels.send}
        </Link>
        <RowButton aria-label={labels.detailsNamed(file.file_name)} onClick={() => tone(file)}>
          {labels.details}
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
  const [visible, setVisible] = useState<MediaFile | null>(null)
  const [removing, setRemoving] = useState<MediaFile | null>(null)
  const uploading = useUpload(id)
  const add = <UploadButton {...uploading} />
  return (
    <main className="page gap-4">
      <PageHead title={labels.title} about={<StorageUsed id={id} />}>
        {add}
      </PageHead>
      <UploadState {...uploading} />
      <KindFilter
        kind={kind}
        choose={(value) =>
          void navigate({ search: value === "image" || value === "file" ? { kind: value } : {} })
        }
      />
      <PagedTable
        list={files}
        caption={labels.caption}
        columns={[...columns, ...actions(workspaceId, setVisible)]}
        empty={[
          "image",
          kind === undefined ? labels.empty : labels.nothing,
          labels.emptyAbout,
          kind === undefined && add,
        ]}
      />
      {visible !== null && (
        <FileDetails
          workspaceId={workspaceId}
          file={visible}
          close={() => setVisible(null)}
          remove={() => {
            setVisible(null)
            setRemoving(visible)
          }}
        />
      )}
      {removing !== null && (
        <ConfirmCall
          name="DELETE /admin/v1/workspaces/{id}/media/{media_id}"
          input={{ path: { id, media_id: removing.id } }}
          title={labels.removeTitle(removing.file_name)}
          action={labels.remove}
          close={() => setRemoving(null)}
        >
          {labels.removeAbout}
        </ConfirmCall>
      )}
    </main>
  )
}

const KindFilter = ({
  choose,
  kind = "",
}: {
  kind: string | undefined
  choose: (kind: string) => void
}) => (
  <div className="w-40">
    <SelectField
      label={labels.kind}
      value={kind}
      onChange={({ target }) => choose(target.value)}
      options={[
        ["", labels.kinds.all],
        ["image", labels.kinds.image],
        ["file", labels.kinds.file],
      ]}
    />
  </div>
)

const FileName = ({ file }: { file: MediaFile }) => (
  <a
    href={ownLink(file.url)}
    target="_blank"
    rel="noreferrer"
    aria-label={labels.open(file.file_name)}
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
        alt={labels.picture}
        className="max-h-64 min-h-24 min-w-24 self-center rounded-lg bg-sunken object-contain"
      />
    )}
    <dl className="grid grid-cols-2 gap-4">
      <Fact name={labels.type}>{file.mime_type}</Fact>
      <Fact name={labels.size}>{formatSize(file.size)}</Fact>
    </dl>
    <Secret label={labels.link} text={file.url} about={labels.linkAbout} />
    <div className="flex flex-wrap justify-end gap-2">
      <Button variant="danger" onClick={remove}>
        {labels.removeNamed(file.file_name)}
      </Button>
      <Link
        to="/w/$workspaceId/messages/new"
        params={{ workspaceId }}
        search={{ media: file.id }}
        className={primaryLink}
      >
        {labels.sendNamed(file.file_name)}
      </Link>
    </div>
  </Dialog>
)

/** Uploads a file as soon as it is chosen; a try after a lost answer stores it once. */
const useUpload = (id: number) => {
  const client = useQueryClient()
  const [share, setShare] = useState(0)
  const mutation = useMutation({
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
    if (file === undefined || mutation.isPending) return
    setShare(0)
    mutation.mutate({ file, key: newKey() })
  }
  /** Opens the browser's own choice of a file. */
  const input = useRef<HTMLInputElement>(null)
  return { ...mutation, choose, input, share }
}

type Uploading = ReturnType<typeof useUpload>

const UploadButton = ({ input }: Pick<Uploading, "input">) => (
  <Button variant="primary" title={attachLabels.sizeAbout} onClick={() => input.current?.click()}>
    {labels.upload}
  </Button>
)

const UploadState = ({
  choose,
  data,
  error,
  input,
  isPending,
  mutate,
  share,
  variables,
}: Uploading) => (
  <>
    <input
      ref={input}
      type="file"
      hidden
      aria-label={labels.upload}
      onChange={({ target }) => {
        choose(target.files?.[0])
        // The same file can be chosen again after a failure.
        target.value = ""
      }}
    />
    <div role="status" className="text-sm empty:hidden">
      {isPending && (
        <span className="flex items-center gap-3">
          <span className="truncate">{labels.uploading(variables.file.name)}</span>
          <progress
            aria-label={labels.uploading(variables.file.name)}
            max={1}
            value={share}
            className="h-1.5 w-40"
          />
        </span>
      )}
      {data && !isPending && labels.uploaded(data.file_name)}
    </div>
    {error && <Failure error={error} again={() => variables && mutate(variables)} />}
  </>
)

/** Sizes are added up over so many pages of 100 files. */
const pagesMax = 10

/** What the listed files take; copies that waiting messages keep count as well, and no operation tells them. */
const getSum = async (id: number, signal: AbortSignal) => {
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
  const workspace = useQuery(operationQuery("GET /admin/v1/workspaces/{id}", { path: { id } }))
  const used = useQuery({
    queryKey: ["workspaces", id, "storage used"],
    queryFn: ({ signal }) => getSum(id, signal),
    refetchInterval: false,
  })
  const limit = workspace.data?.plan?.media_storage_bytes
  return (
    <>
      {limit === undefined ? labels.aboutNoPlan : labels.about(formatSize(limit))}
      {used.data && (
        <span className="inline-flex items-center gap-2 text-xs max-md:flex max-md:pt-1 md:ml-3">
          {limit !== undefined && (
            <progress
              aria-label={labels.storage}
              max={limit}
              value={used.data.bytes}
              className="h-1.5 w-20"
            />
          )}
          {used.data.isAll
            ? labels.used(formatSize(used.data.bytes), used.data.count)
            : labels.usedAtLeast(formatSize(used.data.bytes))}
        </span>
      )}
    </>
  )
}
