/** What a received message says: its text, its file by its state, or its kind in plain words. */
import { useState } from "react"
import type { ReactNode } from "react"
import type { ReceivedMessage } from "@messaging-service/client"
import { ownLink } from "../api/upload.ts"
import { Icon } from "../ui/Icon.tsx"
import type { IconName } from "../ui/Icon.tsx"
import { formatSize } from "../ui/size.ts"
import { left } from "../ui/Time.tsx"
import { Text } from "./Text.tsx"
import { contentLabels, kindLabels, mediaStateLabels, threadLabels as labels } from "./words.ts"

export const Content = ({ message }: { message: ReceivedMessage }) => {
  const { content, kind, media, revoked_at: revoked, text } = message
  if (revoked !== null) return <Plain icon="slash">{labels.revoked}</Plain>
  // Its file or its content names the kind.
  const isNamed =
    media === null && (content === null || "type" in content) && (kind !== "text" || text === "")
  return (
    <>
      {media !== null && <File kind={kind} media={media} />}
      {isNamed && <Plain icon={icons[kind] ?? "file"}>{kindLabels[kind]}</Plain>}
      {content !== null && <Extra kind={kind} content={content} />}
      {text !== "" && <Text text={text} />}
      {content?.truncated && <p className="text-xs text-soft">{labels.truncated}</p>}
    </>
  )
}

/** In place of a text. */
export const Plain = ({ children, icon }: { icon: IconName; children: ReactNode }) => (
  <p className="flex items-start gap-1.5 text-soft">
    <span className="grid h-5 place-items-center">
      <Icon name={icon} />
    </span>
    {children}
  </p>
)

const icons: Partial<Record<ReceivedMessage["kind"], IconName>> = {
  image: "image",
  sticker: "image",
  video: "play",
  voice: "play",
  audio: "play",
  text: "message",
  contact: "people",
  poll: "check",
  unsupported: "warning",
  unreadable: "warning",
}

type Media = NonNullable<ReceivedMessage["media"]>
type Kind = ReceivedMessage["kind"]

const File = ({ kind, media }: { kind: Kind; media: Media }) => {
  const { file_name: fileName, seconds, size, state, url } = media
  const name = fileName || kindLabels[kind]
  const facts = [
    fileName ? kindLabels[kind] : null,
    seconds === null ? null : left(seconds * 1000),
    size === null ? null : formatSize(size),
    state === "remote" ? mediaStateLabels.remote : null,
  ].filter((fact) => fact !== null)
  const isMissing = state !== "ready" && state !== "remote"
  const isPicture = state === "ready" && (kind === "image" || kind === "sticker")
  return (
    <div className="flex min-w-0 flex-col gap-2">
      {isPicture && url !== null && <Picture url={url} name={name} />}
      <div className="flex min-w-0 items-center gap-2.5 rounded-lg border border-line bg-surface px-2.5 py-1.5">
        <Icon name={icons[kind] ?? "file"} className="text-soft" />
        <div className="min-w-0">
          <p className="truncate text-sm font-medium">
            {url === null ? (
              <bdi>{name}</bdi>
            ) : (
              <a
                href={ownLink(url)}
                target="_blank"
                rel="noreferrer"
                aria-label={contentLabels.open(name)}
                className="text-accent hover:underline"
              >
                <bdi>{name}</bdi>
              </a>
            )}
          </p>
          {facts.length > 0 && (
            <p className="text-xs text-soft tabular-nums">{facts.join(" · ")}</p>
          )}
          {isMissing && <p className="text-xs text-amber">{mediaStateLabels[state]}</p>}
        </div>
      </div>
    </div>
  )
}

/** Each answer has a fresh link: the first one stays until it ends, so that the picture is loaded once. */
const Picture = ({ name, url }: { url: string; name: string }) => {
  const [source, setSource] = useState(url)
  return (
    <img
      src={ownLink(source)}
      alt={name}
      onError={() => setSource(url)}
      className="h-44 max-w-full self-start rounded-lg bg-sunken object-contain"
    />
  )
}

type ContentOfKind = NonNullable<ReceivedMessage["content"]>

/** What the kind has in addition to its text. */
const Extra = ({ content, kind }: { kind: Kind; content: ContentOfKind }) => {
  if ("latitude" in content)
    return (
      <Titled title={content.name || kindLabels[kind]}>
        {content.address && <p className="break-words">{content.address}</p>}
        <p className="font-mono">
          {contentLabels.coordinates(content.latitude, content.longitude)}
        </p>
      </Titled>
    )
  if ("contacts" in content)
    return content.contacts.map(({ name, phones }, index) => (
      // Two may have one name.
      // oxlint-disable-next-line react/no-array-index-key
      <Titled key={index} title={name || kindLabels[kind]}>
        {phones.map((phone) => (
          <p key={phone} className="font-mono break-words">
            {phone}
          </p>
        ))}
      </Titled>
    ))
  if ("question" in content)
    return (
      <Titled title={content.question || kindLabels[kind]}>
        <ul className="list-disc pl-4">
          {[...new Set(content.options)].map((option) => (
            <li key={option} className="break-words">
              <bdi>{option}</bdi>
            </li>
          ))}
        </ul>
      </Titled>
    )
  return "type" in content && content.type !== "" ? (
    <p className="font-mono text-xs break-words text-soft">{contentLabels.type(content.type)}</p>
  ) : null
}

const Titled = ({ children, title }: { title: string; children: ReactNode }) => (
  <div className="min-w-0 rounded-lg border border-line bg-surface px-2.5 py-1.5 text-xs text-soft">
    <p className="text-sm font-medium break-words text-ink">
      <bdi>{title}</bdi>
    </p>
    {children}
  </div>
)
