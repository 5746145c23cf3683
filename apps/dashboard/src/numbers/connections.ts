/** The connections of all numbers of a workspace, in one answer. */
import { useQuery } from "@tanstack/react-query"
import type { NumberState } from "../api/additions.ts"
import { asked } from "../api/call.ts"
import { isOffered } from "../api/offered.ts"

const name = "GET /admin/v1/workspaces/{id}/connections"

/** Undefined until they arrive. */
export const useConnections = (id: number): ReadonlyArray<NumberState> | undefined =>
  useQuery({ ...asked(name, { path: { id } }), enabled: isOffered(name) }).data?.data
