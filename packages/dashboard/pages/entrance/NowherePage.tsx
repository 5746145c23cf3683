/** For an address that no page has. */
import { Link } from "@tanstack/react-router"
import { useTitle } from "../ui/parts.tsx"
import { Door } from "./Door.tsx"
import { nowhereWords as words } from "./words.ts"

export const NowherePage = () => {
  useTitle(words.title)
  return (
    <Door>
      <h1 className="text-xl font-semibold">{words.title}</h1>
      <Link to="/" className="control self-start">
        {words.start}
      </Link>
    </Door>
  )
}
