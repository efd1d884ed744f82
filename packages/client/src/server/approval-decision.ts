import type { DecisionKind, PendingApproval, Remember } from "../protocol.js";

/** Any JSON value. `undefined` is none: it would be left out of the request. */
type Json = NonNullable<unknown> | null;

/** A person's decision on an approval request. */
export type ApprovalDecision = ShownInput & DecisionOfKind;

interface ShownInput {
  /**
   * `inputSha256` of the approval request as it was shown. If the call would run with another input, the decision is
   * refused. The hooks set it.
   */
  inputSha256?: string;
}

type DecisionOfKind =
  /** Approves the call; with `input`, the call runs with exactly this input in place of the model's. */
  | {
      approved: true;
      input?: Json;
      output?: never;
      reason?: string;
      /** Makes a grant: later calls that it covers run without a question. Only if `allowed` has `remember`. */
      remember?: Remember;
    }
  /** Denies the call. The model gets the reason. */
  | { approved: false; input?: never; output?: never; reason?: string; remember?: never }
  /** Answers in the tool's place: the tool does not run, and the model gets this output as its result. */
  | { output: Json; approved?: never; input?: never; reason?: string; remember?: never };

/** The kind of a decision, by the name that the record has for it. */
export function kindOf({ approved, input }: ApprovalDecision): DecisionKind {
  if (approved === undefined) return "answer";
  if (!approved) return "deny";
  return input === undefined ? "approve" : "edit";
}

/** Binds a decision to the input that was shown: if the call would run with another one, the server refuses it. */
export function asShown(shown: PendingApproval | undefined, decision: ApprovalDecision): ApprovalDecision {
  const inputSha256 = decision.inputSha256 ?? shown?.inputSha256;
  return inputSha256 === undefined ? decision : { ...decision, inputSha256 };
}
