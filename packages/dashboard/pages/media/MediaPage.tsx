/** The files of a workspace: upload, look at, link, send, delete. */
import { keepPreviousData, useQuery } from "@tanstack/react-query"
import { Link, getRouteApi, useNavigate } from "@tanstack/react-router"
import { useState } from "react"
import type { MediaFile } from "@messaging-service/client"
import { asked } from "../api/call.ts"
import { ownLink } from "../api/upload.ts"
import { useCall } from "../api/useCall.ts"
import { Confirm, Dialog } from "../ui/Dialog.tsx"
import { SelectField } from "../ui/forms.tsx"
import { PagedAnswer } from "../ui/PagedAnswer.tsx"
import { Button, Empty, Fact, PageHead, Secret } from "../ui/parts.tsx"
import { sizeOf } from "../ui/size.ts"
import { Cell, Row, Table, rowButton } from "../ui/Table.tsx"
import { When } from "../ui/Time.tsx"
import { toTrail } from "../ui/trail.ts"
import { StorageUsed } from "./StorageUsed.tsx"
import { Upload } from "./Upload.tsx"
import { mediaWords as words } from "./words.ts"

const route = getRouteApi("/inside/w/$workspaceId/media")

const columns = [
  { name: words.name },
  { name: words.type, wide: true },
  { name: words.size, wide: true, right: true },
  { name: words.made, wide: true, right: true },
  { name: words.actions, right: true, silent: true },
] as const

export const MediaPage = () => {
  const { workspaceId } = route.useParams()
  const id = Number(workspaceId)
  const { kind, trail = [] } = route.useSearch()
  const navigate = useNavigate({ from: "/w/$workspaceId/media" })
  const files = useQuery({
    ...asked("GET /admin/v1/workspaces/{id}/media", {
      path: { id },
      query: { limit: 50, cursor: trail.at(-1), type: kind },
    }),
    placeholderData: keepPreviousData,
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
      <PagedAnswer
        query={files}
        trail={trail}
        go={(to) => void navigate({ search: { ...(kind && { kind }), ...toTrail(to) } })}
      >
        {(data) => (
          <Files
            workspaceId={workspaceId}
            files={data}
            isFiltered={kind !== undefined}
            look={setShown}
          />
        )}
      </PagedAnswer>
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

const Files = ({
  files,
  isFiltered,
  look,
  workspaceId,
}: {
  workspaceId: string
  files: ReadonlyArray<MediaFile>
  isFiltered: boolean
  look: (file: MediaFile) => void
}) =>
  files.length === 0 ? (
    <div className="card">
      <Empty icon="image" title={isFiltered ? words.nothing : words.empty}>
        {words.emptyAbout}
      </Empty>
    </div>
  ) : (
    <Table caption={words.caption} columns={columns}>
      {files.map((file) => (
        <Row key={file.id}>
          <Cell>
            <FileName file={file} />
          </Cell>
          <Cell wide>{file.mime_type}</Cell>
          <Cell wide right>
            <span className="tabular-nums">{sizeOf(file.size)}</span>
          </Cell>
          <Cell wide right>
            <When at={file.created_at} />
          </Cell>
          <Cell right>
            <Link
              to="/w/$workspaceId/messages/new"
              params={{ workspaceId }}
              search={{ media: file.id }}
              aria-label={words.sendNamed(file.file_name)}
              className={`${rowButton} inline-flex items-center max-md:hidden`}
            >
              {words.send}
            </Link>
            <button
              type="button"
              aria-label={words.detailsNamed(file.file_name)}
              onClick={() => look(file)}
              className={rowButton}
            >
              {words.details}
            </button>
          </Cell>
        </Row>
      ))}
    </Table>
  )

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
      busy={remove.isPending}
      error={remove.error}
      act={() => remove.mutate({ path: { id, media_id: file.id } })}
      close={close}
    >
      {words.removeAbout}
    </Confirm>
  )
}
