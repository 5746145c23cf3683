/** The file that a message carries: its picture or its name, and the way to it. */
import { useQuery } from "@tanstack/react-query"
import type { ReactNode } from "react"
import type { Message } from "@messaging-service/client"
import { operationQuery } from "../api/call.ts"
import { ownLink } from "../api/upload.ts"
import { Icon } from "../ui/Icon.tsx"
import { formatSize } from "../ui/size.ts"
import { fileLabels as labels, panelLabels } from "./words.ts"

type Media = NonNullable<Message["media"]>

interface FileProps {
  readonly media: Media
  readonly mode: "test" | undefined
  readonly workspaceId: number
}

export const MessageFile = ({ media, ...of }: FileProps) => {
  if (media.media_id !== null) return <Stored {...of} media={media} mediaId={media.media_id} />
  if (media.url === null || !URL.canParse(media.url)) return <Row name={toName(media)} />
  const { host, pathname } = new URL(media.url)
  return (
    <Row name={media.file_name ?? (pathname.split("/").at(-1) || host)} about={host}>
      <a href={media.url} target="_blank" rel="noreferrer" className="control hover:bg-sunken">
        {labels.open}
      </a>
    </Row>
  )
}

const toName = (media: Media): string => media.file_name ?? panelLabels.carries(media)

const Stored = ({ media, mediaId, mode, workspaceId }: FileProps & { mediaId: number }) => {
  const path = { id: workspaceId, media_id: mediaId }
  const { data, error } = useQuery(
    operationQuery("GET /admin/v1/workspaces/{id}/media/{media_id}", { path, query: { mode } }),
  )
  if (data === undefined) return <Row name={toName(media)} about={error ? labels.gone : ""} />
  const address = ownLink(data.url)
  return (
    <>
      {data.type === "image" && (
        <img
          src={address}
          alt={data.file_name}
          className="max-h-56 min-h-16 min-w-16 self-start rounded-lg bg-sunken object-contain"
        />
      )}
      <Row name={data.file_name} about={formatSize(data.size)}>
        <a
          href={address}
          download={data.file_name}
          aria-label={labels.downloadNamed(data.file_name)}
          className="control hover:bg-sunken"
        >
          {labels.download}
        </a>
      </Row>
    </>
  )
}

const Row = ({
  about = "",
  children,
  name,
}: {
  name: string
  about?: string
  children?: ReactNode
}) => (
  <div className="flex min-w-0 items-center gap-2.5 rounded-lg border border-line px-3 py-2 text-sm">
    <Icon name="file" className="text-soft" />
    <p className="mr-auto min-w-0">
      <span className="block truncate font-medium">{name}</span>
      <span className="block truncate text-xs text-soft empty:hidden">{about}</span>
    </p>
    {children}
  </div>
)
