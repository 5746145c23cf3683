/** The few parts that every page is made of; elements of the platform do the rest. */
import { useEffect, useId, useState } from "react"
import type { ButtonHTMLAttributes, ReactNode } from "react"
import { Refused } from "../api/call.ts"
import { saysSessionEnded } from "../api/session.ts"
import { Icon } from "./Icon.tsx"
import type { IconName } from "./Icon.tsx"
import { secretLabels, shellLabels, stateLabels as labels } from "./words.ts"

/** Of a link that is the first thing to do on its page. */
export const primaryLink =
  "control border-accent bg-accent font-medium text-on-accent hover:opacity-90"

const variants = {
  plain: "control hover:bg-sunken",
  primary: primaryLink,
  danger: "control border-red text-red hover:bg-red-wash",
  quiet:
    "inline-flex h-8 items-center gap-1.5 rounded-md px-2 text-sm text-soft hover:bg-sunken hover:text-ink",
}

export const Button = ({
  busy = false,
  variant = "plain",
  ...attributes
}: ButtonHTMLAttributes<HTMLButtonElement> & {
  variant?: keyof typeof variants
  busy?: boolean
}) => (
  <button
    type="button"
    {...attributes}
    aria-busy={busy}
    // Not `disabled`: that would drop the focus, and with it the place of a keyboard user.
    aria-disabled={busy || attributes["aria-disabled"]}
    // A busy button that submits a form would submit it twice.
    onClick={busy ? (event) => event.preventDefault() : attributes.onClick}
    className={`${variants[variant]} cursor-pointer aria-disabled:cursor-default aria-disabled:opacity-55 ${attributes.className ?? ""}`}
  />
)

/** The way from one thing to its list, before the name of the thing: what a page does stands at the right. */
export const backLink =
  "order-first inline-flex h-8 items-center gap-2 text-sm text-soft after:text-faint after:content-['/'] hover:text-ink pointer-coarse:h-10"

/** Also the title of the document. */
export const PageHead = ({
  about,
  children,
  title,
}: {
  title: string
  about?: ReactNode
  children?: ReactNode
}) => {
  useTitle(title)
  return (
    <header className="flex min-h-9 flex-wrap items-center gap-x-3 gap-y-2">
      <div className="mr-auto flex min-w-0 flex-wrap items-baseline gap-x-3">
        <h1 className="min-w-0 text-xl font-semibold break-words">{title}</h1>
        {about && <p className="text-sm text-soft">{about}</p>}
      </div>
      {children}
    </header>
  )
}

/** Says what would be here, and the one thing to do about it. */
export const Empty = ({
  children,
  icon,
  title,
}: {
  title: string
  icon?: IconName
  children: ReactNode
}) => (
  <div className="flex flex-col items-center gap-1.5 px-6 py-14 text-center">
    {icon && (
      <span className="mb-2 grid size-10 place-items-center rounded-full bg-sunken text-soft">
        <Icon name={icon} />
      </span>
    )}
    <p className="text-lg font-semibold">{title}</p>
    <div className="max-w-[46ch] text-soft">{children}</div>
  </div>
)

const isRoleRefusal = (error: Error): boolean =>
  error instanceof Refused && ["role_required", "operator_required"].includes(error.code)

/** Of a part of the page that cannot be drawn. */
export const notVisible = new Error(labels.notVisible)

const toSentence = (error: Error): string => {
  if (error === notVisible) return error.message
  if (!(error instanceof Refused)) return labels.away
  // The dialog over the page signs in again; what the user asked for is still to be done.
  if (saysSessionEnded(error)) return labels.sessionEnded
  if (isRoleRefusal(error)) return labels.roleRefused
  return error.status === 404 ? labels.gone : error.message
}

/** Whatever is repeated, it stays refused. */
const isFinal = (error: Error): boolean =>
  isRoleRefusal(error) || (error instanceof Refused && error.status === 404)

const toDetail = (error: Error): string => {
  if (!(error instanceof Refused)) return labels.mayBeOld
  const later = error.retryAfter === null ? "" : labels.againIn(error.retryAfter)
  return `${error.code} · ${error.requestId ?? labels.noRequestId}${later}`
}

/** What went wrong, what the user can do, and the id that an operator finds in the log. */
export const Failure = ({ again, error }: { error: Error; again?: () => void }) => (
  <div
    role="alert"
    className="flex flex-wrap items-center gap-x-3 gap-y-2 rounded-lg border border-red bg-red-wash px-3 py-2 text-red"
  >
    <Icon name="warning" />
    <div className="mr-auto min-w-0">
      <p className="font-medium break-words">{toSentence(error)}</p>
      <p className="text-xs break-words">{toDetail(error)}</p>
    </div>
    {again && !isFinal(error) && <Button onClick={again}>{labels.again}</Button>}
  </div>
)

/**
 * Why a question of the page has no answer. Nothing when the session has ended: the dialog over the page says so, and
 * the page asks again by itself once the user has signed in.
 */
export const QueryFailure = ({ again, error }: { error: Error | null; again: () => void }) =>
  error !== null && !saysSessionEnded(error) && <Failure error={error} again={again} />

/** A line above every page, with the way to what it speaks of. */
export const Bar = ({
  children,
  icon,
  message,
}: {
  icon: IconName
  message: string
  children: ReactNode
}) => (
  <p className="flex flex-wrap items-center gap-2 border-b border-line bg-amber-wash px-4 py-2 text-sm text-amber md:px-6">
    <Icon name={icon} />
    <span className="mr-auto tabular-nums">{message}</span>
    {children}
  </p>
)

/** A key or a secret, which the service shows once. */
export const Secret = ({ about, label, text }: { label: string; text: string; about?: string }) => (
  <div className="flex min-w-0 flex-col gap-1.5 rounded-lg bg-amber-wash px-3.5 py-3 text-amber">
    <p className="text-sm font-medium">{label}</p>
    <p className="flex items-start gap-2">
      <code className="min-w-0 grow rounded bg-surface px-2 py-1 font-mono text-sm break-all text-ink">
        {text}
      </code>
      <Copy text={text} secret />
    </p>
    <p className="text-xs">{about ?? secretLabels.once}</p>
  </div>
)

/** Rows to come, in the height that they will have. */
export const Loading = ({ rows = 8 }: { rows?: number }) => (
  <div role="status" aria-label={labels.loading} className="flex flex-col">
    {Array.from({ length: rows }, (_, index) => (
      // Their place is all that tells them apart.
      // oxlint-disable-next-line react/no-array-index-key
      <div key={index} className="flex h-9 items-center border-b border-line px-3 last:border-0">
        <span className="h-2.5 w-full animate-pulse rounded-full bg-sunken" />
      </div>
    ))}
  </div>
)

/** A button that copies an id, a phone or the like. */
export const Copy = ({ secret = false, text }: { text: string; secret?: boolean }) => {
  const [done, setDone] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setDone(true)
    setTimeout(() => setDone(false), 1500)
  }
  return (
    <button
      type="button"
      title={labels.copy}
      aria-label={done ? labels.copied : secret ? labels.copy : labels.copyText(text)}
      onClick={() => void copy()}
      className="inline-grid size-6 cursor-pointer place-items-center rounded align-middle text-faint hover:bg-sunken hover:text-ink"
    >
      <Icon name={done ? "tick" : "copy"} />
    </button>
  )
}

/** A name and its value. */
export const Fact = ({ children, name }: { name: string; children: ReactNode }) => (
  <div className="flex min-w-0 flex-col">
    <dt className="label">{name}</dt>
    <dd className="truncate text-sm">{children}</dd>
  </div>
)

const kbdTones = {
  surface: "border-line bg-surface text-faint",
  accent: "border-on-accent/40 text-on-accent",
}

/** A key, where it acts; a finger has none. */
export const Kbd = ({
  children,
  on = "surface",
}: {
  children: ReactNode
  on?: keyof typeof kbdTones
}) => (
  <kbd
    aria-hidden="true"
    className={`rounded border px-1 font-mono text-2xs max-md:hidden ${kbdTones[on]}`}
  >
    {children}
  </kbd>
)

/** A part of a page with a heading of its own, a sentence, and at most one action. */
export const Section = ({
  about,
  action,
  children,
  title,
}: {
  title: string
  about?: ReactNode
  action?: ReactNode
  children: ReactNode
}) => {
  const heading = useId()
  return (
    <section aria-labelledby={heading} className="flex flex-col gap-3">
      <header className="flex flex-wrap items-center gap-x-3 gap-y-2">
        <div className="mr-auto min-w-0">
          <h2 id={heading} className="text-lg font-semibold">
            {title}
          </h2>
          {about && <p className="text-sm text-soft">{about}</p>}
        </div>
        {action}
      </header>
      {children}
    </section>
  )
}

/** The title of the document, by which tabs and screen readers tell pages apart. */
export const useTitle = (title: string): void => {
  useEffect(() => {
    document.title = shellLabels.toTitle(title)
  }, [title])
}
