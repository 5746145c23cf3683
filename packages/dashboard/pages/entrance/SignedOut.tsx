/** Over a page whose session has ended: signs in again and leaves the page as it is. */
import { useQueryClient } from "@tanstack/react-query"
import { useRouter } from "@tanstack/react-router"
import { useEffect, useRef } from "react"
import type { BrowserSession } from "@messaging-service/client"
import { signedOutWords as words } from "../ui/words.ts"
import { SignInForm } from "./SignInPage.tsx"

export const SignedOut = ({ kind }: { kind: BrowserSession["kind"] }) => {
  const client = useQueryClient()
  const router = useRouter()
  const dialog = useRef<HTMLDialogElement>(null)
  useEffect(() => dialog.current?.showModal(), [])
  return (
    <dialog
      ref={dialog}
      aria-label={words.title}
      // Nothing behind it works.
      onCancel={(event) => event.preventDefault()}
      className="over m-auto w-[24rem] max-w-[calc(100vw-1.5rem)]"
    >
      <div className="flex flex-col gap-4 p-5">
        <h2 className="text-lg font-semibold">{words.title}</h2>
        <p className="text-soft">{kind === "operator" ? words.operator : words.portal}</p>
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
