//! Requests: reading them within limits, and the failures of those that can't be served.

mod body;
mod budget;
mod deadline;
mod failure;
mod parts;
mod rate;
mod trace;

pub(crate) use body::{body, parse, read, value};
pub(crate) use budget::{BUSY_TIMEOUT, Budget, Held, Share, UNCOUNTED_BYTES};
pub(crate) use deadline::{BodyTimedOut, deadline};
pub(crate) use failure::{Failure, Form, Limit, in_force, shape};
pub(crate) use parts::{Parameters, PathId, Upgrade};
pub(crate) use rate::Rate;
pub(crate) use trace::traced;
