/** Pages that are loaded when a user first goes to them, and what shows when that fails. */
import { lazyRouteComponent, useRouter } from "@tanstack/react-router"
import type { ErrorComponentProps } from "@tanstack/react-router"
import { call } from "../api/call.ts"
import { Failure } from "./parts.tsx"

/**
 * The page that the import exports by that name. A file that a newer server no longer has makes the document load
 * again; without a connection the document stays, since the browser would replace it by an error of its own.
 */
export const lazyPage = <Module extends object, Name extends keyof Module & string>(
  load: () => Promise<Module>,
  name: Name,
) =>
  lazyRouteComponent(
    () =>
      load().catch(async (notFound: unknown) => {
        await call("GET /admin/v1/session", {})
        throw notFound
      }),
    name,
  )

export const PageFailure = ({ error, reset }: ErrorComponentProps) => {
  const router = useRouter()
  const again = () => void router.invalidate().finally(reset)
  return (
    <main className="p-4 md:p-6">
      <Failure error={error instanceof Error ? error : new Error(String(error))} again={again} />
    </main>
  )
}
