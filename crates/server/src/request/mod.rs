//! Requests: reading them within limits, and the failures of those that can't be served.

mod body;
mod budget;
mod class;
mod deadline;
mod even_time;
mod failure;
mod in_force;
mod limit;
mod parts;
mod private;
mod rate;
mod trace;

pub(crate) use body::{body, parse, read, shortened, value};
pub(crate) use budget::{BUSY_TIMEOUT, Budget, Held, Share, UNCOUNTED_BYTES};
pub(crate) use class::RouteClass;
pub(crate) use deadline::{BodyTimedOut, deadline};
pub(crate) use even_time::even_time;
pub(crate) use failure::{Failure, Form, shape};
pub(crate) use in_force::in_force;
pub(crate) use limit::Limit;
pub(crate) use parts::{Parameters, PathId, PathIds, Upgrade};
pub(crate) use private::private;
pub(crate) use rate::Rate;
pub(crate) use trace::traced;
