/** The connections of all numbers of a workspace. */
import { useQuery } from "@tanstack/react-query"
import type { ListedConnection } from "@messaging-service/client"
import { asked } from "../api/call.ts"

/** Undefined until they arrive. */
export const useConnections = (id: number): ReadonlyArray<ListedConnection> | undefined =>
  useQuery(asked("GET /admin/v1/workspaces/{id}/connections", { path: { id } })).data?.data
