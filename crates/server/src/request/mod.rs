//! What comes in: bodies within limits, and what is told when they are not.

mod body;
mod deadline;
mod failure;

pub(crate) use body::{body, parse};
pub(crate) use deadline::{BodyTimedOut, deadline};
pub(crate) use failure::{Answer, Failure};
