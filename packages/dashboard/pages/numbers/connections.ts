/** The connections of all numbers of a workspace. */
import { useQuery } from "@tanstack/react-query"
import type { ListedConnection } from "@messaging-service/client"
import { asked } from "../api/call.ts"

/** Undefined until they arrive; asks for none when it is not enabled. */
export const useConnections = (
  id: number,
  enabled = true,
): ReadonlyArray<ListedConnection> | undefined =>
  useQuery({ ...asked("GET /admin/v1/workspaces/{id}/connections", { path: { id } }), enabled })
    .data?.data
