/** Kinds of errors, by the code of the C interface. */
export const KINDS = [
  "ok",
  "pointer",
  "handle",
  "busy",
  "length",
  "value",
  "utf8",
  "refused",
  "full",
  "panic",
  "stopped",
  "step_time",
] as const;

export type Kind = (typeof KINDS)[number] | "unknown";

/** An input that the library rejects. The message says what was found, what was expected and what to do. */
export class RooflutError extends Error {
  /** What kind of error it is. */
  readonly kind: Kind;

  constructor(kind: Kind, message: string) {
    super(message);
    this.name = "RooflutError";
    this.kind = kind;
  }
}
