/** What a message carries: nothing, a file of this machine, one of the workspace's files, or a link. */
import { useQuery } from "@tanstack/react-query"
import { useEffect, useRef } from "react"
import type { MediaReference } from "@messaging-service/client"
import { operationQuery } from "../api/call.ts"
import { ownLink, upload } from "../api/upload.ts"
import { FileField, SelectField, TextField } from "../ui/forms.tsx"
import { Icon } from "../ui/Icon.tsx"
import { formatSize } from "../ui/size.ts"
import { attachLabels as labels } from "./words.ts"

export type Attachment =
  | { readonly kind: "none" }
  | { readonly kind: "upload"; readonly file: File | null; readonly key: string }
  | { readonly kind: "stored"; readonly id: number | null }
  | { readonly kind: "link"; readonly url: string }

export type AttachmentKind = Attachment["kind"]
type Mode = "live" | "test"

/** What a request says of it. A file is uploaded before: with the same key again it is stored once. */
export const getMedia = async (
  attachment: Attachment,
  workspaceId: number,
  mode: Mode,
): Promise<MediaReference | null> => {
  if (attachment.kind === "link") return { url: attachment.url.trim() }
  if (attachment.kind === "stored")
    return attachment.id === null ? null : { media_id: attachment.id }
  if (attachment.kind === "none" || attachment.file === null) return null
  const { file, key } = attachment
  const { id } = await upload({ workspaceId, file, mode, idempotencyKey: `${key}-${mode}` })
  return { media_id: id }
}

const kinds = ["none", "upload", "stored", "link"] as const

export const Attach = ({
  attachment,
  change,
  id,
  mode,
  newUpload,
  problem,
}: {
  id: number
  mode: Mode
  attachment: Attachment
  problem?: string | undefined
  /** Makes the key of an upload. */
  newUpload: () => string
  change: (attachment: Attachment) => void
}) => {
  const choose = (kind: AttachmentKind) => {
    if (kind === "upload") change({ kind, file: null, key: newUpload() })
    else if (kind === "stored") change({ kind, id: null })
    else change(kind === "link" ? { kind, url: "" } : { kind })
  }
  return (
    <fieldset className="flex min-w-0 flex-col gap-3">
      <legend className="mb-1 text-sm font-medium">{labels.legend}</legend>
      <div className="flex flex-wrap gap-x-4 gap-y-2 text-sm">
        {kinds.map((kind) => (
          <label key={kind} className="flex cursor-pointer items-center gap-1.5">
            <input
              type="radio"
              name="attachment"
              checked={attachment.kind === kind}
              onChange={() => choose(kind)}
              className="size-4 accent-accent"
            />
            {labels[kind]}
          </label>
        ))}
      </div>
      {attachment.kind === "upload" && (
        <FileField
          label={labels.file}
          about={labels.fileAbout}
          problem={problem}
          required
          choose={(file) => change({ kind: "upload", file: file ?? null, key: newUpload() })}
        />
      )}
      {attachment.kind === "stored" && (
        <Stored id={id} mode={mode} chosen={attachment.id} change={change} problem={problem} />
      )}
      {attachment.kind === "link" && (
        <TextField
          type="url"
          label={labels.url}
          about={labels.urlAbout}
          problem={problem}
          value={attachment.url}
          required
          onChange={(event) => change({ kind: "link", url: event.target.value })}
        />
      )}
    </fieldset>
  )
}

const useStored = (id: number, mode: Mode) =>
  useQuery(
    operationQuery("GET /admin/v1/workspaces/{id}/media", {
      path: { id },
      query: { limit: 100, mode },
    }),
  ).data?.data

const Stored = ({
  change,
  chosen,
  id,
  mode,
  problem,
}: {
  id: number
  mode: Mode
  chosen: number | null
  problem?: string | undefined
  change: (attachment: Attachment) => void
}) => {
  const files = useStored(id, mode)
  const first = files?.[0]?.id
  useEffect(() => {
    if (chosen === null && first !== undefined) change({ kind: "stored", id: first })
  }, [change, chosen, first])
  if (files?.length === 0) return <p className="text-sm text-soft">{labels.noStored}</p>
  return (
    <SelectField
      label={labels.which}
      problem={problem}
      value={chosen ?? ""}
      onChange={(event) => change({ kind: "stored", id: Number(event.target.value) })}
      options={files?.map((file) => [file.id, file.file_name]) ?? []}
    />
  )
}

/** The attachment above the text of a message, as the recipient's phone shows it. */
export const AttachmentPreview = ({
  attachment,
  id,
  mode,
}: {
  attachment: Attachment
  id: number
  mode: Mode
}) => {
  if (attachment.kind === "upload")
    return attachment.file && <LocalFile key={attachment.key} file={attachment.file} />
  if (attachment.kind === "stored" && attachment.id !== null)
    return <StoredFile id={id} mode={mode} mediaId={attachment.id} />
  if (attachment.kind !== "link" || !URL.canParse(attachment.url)) return null
  const { host, pathname } = new URL(attachment.url)
  return <FileBubble name={pathname.split("/").at(-1) || host} about={host} />
}

const StoredFile = ({ id, mediaId, mode }: { id: number; mode: Mode; mediaId: number }) => {
  const file = useStored(id, mode)?.find((one) => one.id === mediaId)
  if (file === undefined) return null
  return file.type === "image" ? (
    <img
      src={ownLink(file.url)}
      alt={labels.picture}
      className="max-h-64 rounded-lg object-cover"
    />
  ) : (
    <FileBubble name={file.file_name} about={formatSize(file.size)} />
  )
}

/** Drawn, not linked: the page's policy allows no picture from anywhere but the service. */
const LocalFile = ({ file }: { file: File }) => {
  const canvas = useRef<HTMLCanvasElement>(null)
  const isImage = /^image\/(png|jpeg|gif|webp|avif|bmp)$/.test(file.type)
  useEffect(() => {
    let isOver = false
    const draw = async () => {
      const image = await createImageBitmap(file)
      const on = canvas.current
      if (isOver || on === null) return
      on.width = image.width
      on.height = image.height
      on.getContext("2d")?.drawImage(image, 0, 0)
    }
    // A file that only calls itself an image has no preview.
    if (isImage) draw().catch(() => undefined)
    return () => {
      isOver = true
    }
  }, [file, isImage])
  if (!isImage) return <FileBubble name={file.name} about={formatSize(file.size)} />
  return (
    <canvas
      ref={canvas}
      role="img"
      aria-label={labels.picture}
      width="0"
      height="0"
      className="max-h-64 max-w-full rounded-lg object-contain"
    />
  )
}

const FileBubble = ({ about, name }: { name: string; about: string }) => (
  <p className="flex min-w-0 items-center gap-2.5 rounded-lg bg-sunken px-3 py-2">
    <Icon name="file" />
    <span className="min-w-0">
      <span className="block truncate font-medium">{name}</span>
      <span className="block truncate text-xs text-soft">{about}</span>
    </span>
  </p>
)
