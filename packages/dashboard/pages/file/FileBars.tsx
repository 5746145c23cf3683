/** On every other page while a file is sent, or was not sent to its end. */
import { Link, useLocation } from "@tanstack/react-router"
import { Bar } from "../ui/parts.tsx"
import { shellLabels as labels } from "../ui/words.ts"
import { getProgress, useFileRuns } from "./fileRuns.ts"

export const FileBars = () => {
  const { pathname } = useLocation()
  return useFileRuns()
    .filter(({ state }) => state.progress !== "done")
    .filter(({ workspaceId }) => !pathname.endsWith(`/w/${workspaceId}/messages/file`))
    .map((run) => {
      const { answered, all } = getProgress(run)
      const isSending = run.state.progress === "sending"
      return (
        <Bar
          key={run.workspaceId}
          icon={isSending ? "message" : "warning"}
          message={
            isSending ? labels.sendingFile(answered, all) : labels.stoppedFile(answered, all)
          }
        >
          <Link
            to="/w/$workspaceId/messages/file"
            params={{ workspaceId: String(run.workspaceId) }}
            className="font-medium underline"
          >
            {labels.showFile}
          </Link>
        </Bar>
      )
    })
}
