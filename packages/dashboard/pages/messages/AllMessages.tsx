/** The way back to the list from the pages that send. */
import { Link } from "@tanstack/react-router"
import { messagesLabels as labels } from "./words.ts"

export const AllMessages = ({ workspaceId }: { workspaceId: string }) => (
  <Link className="control" to="/w/$workspaceId/messages" params={{ workspaceId }}>
    {labels.all}
  </Link>
)
