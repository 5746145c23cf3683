/** Dialogs over the page. The platform's own element holds the focus and returns it; Escape closes. */
import { useEffect, useId, useRef } from "react"
import type { ReactNode } from "react"
import { useCall } from "../api/call.ts"
import type { Input } from "../api/call.ts"
import type { Answer, OperationName } from "../api/operations.ts"
import { Form } from "./forms.tsx"
import type { Call, FormProps } from "./forms.tsx"
import { Button, Failure } from "./parts.tsx"
import { dialogLabels as labels } from "./words.ts"

interface Closable {
  readonly title: string
  readonly close: () => void
}

export const Dialog = ({ children, close, title }: Closable & { children: ReactNode }) => {
  const dialog = useRef<HTMLDialogElement>(null)
  const heading = useId()
  useEffect(() => {
    dialog.current?.showModal()
    // Else the first control has the focus, which need not be the field to begin with.
    dialog.current?.querySelector<HTMLElement>("input, textarea")?.focus()
  }, [])
  return (
    <dialog
      ref={dialog}
      aria-labelledby={heading}
      // A click outside must not lose what the user typed.
      closedby="closerequest"
      onClose={close}
      className="over m-auto w-[30rem] max-w-[calc(100vw-1.5rem)]"
    >
      <div className="flex flex-col gap-4 p-5">
        <h2 id={heading} className="text-lg font-semibold">
          {title}
        </h2>
        {children}
      </div>
    </dialog>
  )
}

export const FormDialog = ({ close, title, ...form }: Closable & FormProps) => (
  <Dialog title={title} close={close}>
    <Form {...form} close={close} />
  </Dialog>
)

/** The result, such as a secret that is shown once. */
export const DoneDialog = ({ children, close, title }: Closable & { children: ReactNode }) => (
  <Dialog title={title} close={close}>
    {children}
    <Button variant="primary" className="self-end" onClick={close}>
      {labels.done}
    </Button>
  </Dialog>
)

interface Question extends Closable {
  /** The word on the button. */
  readonly action: string
  /** The word on the button that changes nothing. Default: Cancel, ambiguous next to "Cancel all". */
  readonly dismiss?: string
  readonly children: ReactNode
}

/** Asks before something that cannot be undone, and names what it hits. */
export const Confirm = ({
  act,
  action,
  call: { error, isPending },
  children,
  close,
  dismiss = labels.cancel,
  title,
  variant = "danger",
}: Question & { call: Call; act: () => void; variant?: "danger" | "primary" }) => (
  <Dialog title={title} close={close}>
    <div className="text-soft">{children}</div>
    {error && <Failure error={error} />}
    <div className="flex flex-wrap justify-end gap-2">
      <Button onClick={close}>{dismiss}</Button>
      <Button variant={variant} busy={isPending} onClick={act}>
        {action}
      </Button>
    </div>
  </Dialog>
)

/** Asks before a call, and closes after it unless `done` does something else. */
export const ConfirmCall = <N extends OperationName>({
  done,
  input,
  name,
  ...question
}: Question & { name: N; input: Input<N>; done?: (answer: Answer<N>) => unknown }) => {
  const call = useCall(name, done ?? question.close)
  return <Confirm {...question} call={call} act={() => call.mutate(input)} />
}
