/** The label of whatever waits for this user, wherever it is listed. */
export const WAITING = "Waiting for you";

/** The label of what waits for somebody else. */
export const WAITING_FOR_OTHERS = "Waiting for approval";
