/** Operators sign in with their token, which goes to the service once and is kept nowhere in the browser. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useRouter, useSearch } from "@tanstack/react-router"
import { useEffect, useId, useRef, useState } from "react"
import type { BrowserSession } from "@messaging-service/client"
import { base } from "../api/base.ts"
import { Refused, call } from "../api/call.ts"
import { setSession } from "../api/session.ts"
import { Button, Failure, useTitle } from "../ui/parts.tsx"
import { signedOutLabels } from "../ui/words.ts"
import { CenteredCard } from "./Door.tsx"
import { ownPath } from "./ownPath.ts"
import { signInLabels as labels } from "./words.ts"

const defaultRetrySeconds = 60

const toProblem = (error: Error | null): string | undefined => {
  if (error === null) return undefined
  if (!(error instanceof Refused)) return labels.away
  if (error.status === 401) return labels.wrong
  return error.status === 429
    ? labels.tooMany(error.retryAfter ?? defaultRetrySeconds)
    : error.message
}

export const SignInPage = () => {
  const { to } = useSearch({ from: "/sign-in" })
  const router = useRouter()
  useTitle(labels.title)
  const [code] = useState(() => new URLSearchParams(location.hash.slice(1)).get("code"))
  return (
    <CenteredCard>
      <div>
        <h1 className="text-xl font-semibold">{labels.title}</h1>
        <p className="text-soft">
          {labels.about} {code === null && labels.customer}
        </p>
      </div>
      <div className="card p-5 shadow-card">
        <SignInWays
          code={code}
          signedIn={() => router.history.push(ownPath(to, location.origin) ?? base)}
        />
      </div>
      <p className="text-xs text-soft">
        {labels.where[0]}
        <code className="font-mono">operator-token</code>
        {labels.where[1]}
        <code className="font-mono">OPERATOR_TOKEN</code>
        {labels.where[2]} {labels.keeps}
      </p>
    </CenteredCard>
  )
}

/**
 * The first start prints a link with a code behind `#`. A press of a button exchanges it: programs that open links
 * before people do use nothing up.
 */
const SignInWays = ({ code, signedIn }: { code: string | null; signedIn: () => void }) => {
  const client = useQueryClient()
  const { error, isPending, mutate } = useMutation({
    mutationFn: (body: { code: string }) => call("POST /admin/v1/session", { body }),
    onSuccess: (session) => {
      setSession(client, session)
      signedIn()
    },
  })
  const isUsed = error instanceof Refused && error.status === 401
  if (code === null) return <SignInForm signedIn={signedIn} />
  if (isUsed)
    return (
      <div className="flex flex-col gap-4">
        <p role="alert" className="text-sm text-red">
          {labels.linkUsed}
        </p>
        <SignInForm signedIn={signedIn} />
      </div>
    )
  return (
    <div className="flex flex-col gap-4">
      {error && <Failure error={error} />}
      <p className="text-sm text-soft">{labels.linkAbout}</p>
      <Button variant="primary" className="h-10" busy={isPending} onClick={() => mutate({ code })}>
        {labels.link}
      </Button>
    </div>
  )
}

/** Also in the dialog over a page without a session. */
const SignInForm = ({ signedIn }: { signedIn: () => void }) => {
  const client = useQueryClient()
  const { error, isPending, mutate } = useMutation({
    mutationFn: (token: string) => call("POST /admin/v1/session", { body: { token } }),
    onSuccess: (session) => {
      setSession(client, session)
      signedIn()
    },
  })

  return (
    <form
      className="flex flex-col gap-4"
      onSubmit={(event) => {
        event.preventDefault()
        const token = new FormData(event.currentTarget).get("token")
        if (typeof token === "string" && token.trim() !== "") mutate(token.trim())
      }}
    >
      <TokenField problem={toProblem(error)} />
      <Button type="submit" variant="primary" busy={isPending} className="h-10">
        {labels.signIn}
      </Button>
    </form>
  )
}

const TokenField = ({ problem }: { problem: string | undefined }) => {
  const field = useId()
  const about = useId()
  return (
    <div className="flex flex-col gap-1.5">
      <label htmlFor={field} className="text-sm font-medium">
        {labels.token}
      </label>
      <input
        id={field}
        name="token"
        type="password"
        autoComplete="current-password"
        required
        autoFocus
        aria-invalid={problem !== undefined}
        aria-describedby={problem === undefined ? undefined : about}
        className="control h-10 w-full justify-start font-mono aria-invalid:border-red"
      />
      {problem !== undefined && (
        <p id={about} role="alert" className="text-sm text-red">
          {problem}
        </p>
      )}
    </div>
  )
}

/** Over a page after its session has ended: signs in again and leaves the page as it is. */
export const SignedOut = ({ kind }: { kind: BrowserSession["kind"] }) => {
  const client = useQueryClient()
  const router = useRouter()
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog
      ref={dialog}
      aria-label={signedOutLabels.title}
      // Nothing behind it works.
      onCancel={(event) => event.preventDefault()}
      className="over m-auto w-[24rem] max-w-[calc(100vw-1.5rem)]"
    >
      <div className="flex flex-col gap-4 p-5">
        <h2 className="text-lg font-semibold">{signedOutLabels.title}</h2>
        <p className="text-soft">
          {kind === "operator" ? signedOutLabels.operator : signedOutLabels.portal}
        </p>
        {kind === "operator" && (
          <SignInForm
            signedIn={() => {
              void router.invalidate()
              void client.invalidateQueries()
            }}
          />
        )}
      </div>
    </dialog>
  )
}
