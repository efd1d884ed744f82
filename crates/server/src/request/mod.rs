//! What comes in: bodies within limits, and what is told when they are not.

mod body;
mod failure;

pub(crate) use body::{body, parse, read};
pub(crate) use failure::{Answer, Failure};
