/** For an address that no page has. */
import { Link } from "@tanstack/react-router"
import { useTitle } from "../ui/parts.tsx"
import { CenteredCard } from "./Door.tsx"
import { nowhereLabels as labels } from "./words.ts"

export const NowherePage = () => {
  useTitle(labels.title)
  return (
    <CenteredCard>
      <h1 className="text-xl font-semibold">{labels.title}</h1>
      <Link to="/" className="control self-start">
        {labels.start}
      </Link>
    </CenteredCard>
  )
}
