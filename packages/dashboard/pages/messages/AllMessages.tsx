/** The way back to the list from the pages that send. */
import { Link } from "@tanstack/react-router"
import { backLink } from "../ui/parts.tsx"
import { messagesLabels as labels } from "./words.ts"

export const AllMessages = ({ workspaceId }: { workspaceId: string }) => (
  <Link className={backLink} to="/w/$workspaceId/messages" params={{ workspaceId }}>
    {labels.all}
  </Link>
)
