/** Uploads a file as soon as it is chosen; a try after a lost answer stores it once. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import { useState } from "react"
import { newKey } from "../api/newKey.ts"
import { upload } from "../api/upload.ts"
import { FileField } from "../ui/forms.tsx"
import { Failure } from "../ui/parts.tsx"
import { attachWords, mediaWords as words } from "./words.ts"

export const Upload = ({ id }: { id: number }) => {
  const client = useQueryClient()
  const [share, setShare] = useState(0)
  const { data, error, isPending, mutate, variables } = useMutation({
    mutationFn: ({ file, key }: { file: File; key: string }) =>
      upload({
        workspaceId: id,
        file,
        mode: "live",
        idempotencyKey: key,
        progress: setShare,
      }),
    onSettled: () => void client.invalidateQueries(),
  })
  const choose = (file: File | undefined) => {
    if (file === undefined || isPending) return
    setShare(0)
    mutate({ file, key: newKey() })
  }
  return (
    <div className="card flex flex-col gap-3 p-5">
      <FileField
        // The same file can be chosen again after a failure.
        key={data?.id}
        label={words.upload}
        about={attachWords.sizeAbout}
        choose={choose}
      />
      <div role="status" className="text-sm empty:hidden">
        {isPending && (
          <span className="flex items-center gap-3">
            <span className="truncate">{words.uploading(variables.file.name)}</span>
            <progress
              aria-label={words.uploading(variables.file.name)}
              max={1}
              value={share}
              className="h-1.5 w-40"
            />
          </span>
        )}
        {data && !isPending && words.uploaded(data.file_name)}
      </div>
      {error && <Failure error={error} again={() => variables && mutate(variables)} />}
    </div>
  )
}
