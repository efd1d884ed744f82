//! `process_payment`: pays from the chat's wallet.

use std::sync::{Mutex, PoisonError};

use holdpoint_protocol::ids::ChatId;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Number, Value};

use super::recent::Recent;
use holdpoint_runtime::{
    clock::{Clock, SystemClock},
    subject::Subject,
    tool::{Tool, ToolBuilder, ToolContext},
};

/// Starting balance in cents: amounts are integers.
const INITIAL_BALANCE: i64 = 100_000;
/// Wallets kept in memory. A forgotten one is restored from the chat's last payment.
const MAX_WALLETS: usize = 10_000;

#[derive(Deserialize, JsonSchema)]
struct Payment {
    /// How much to pay: at least one cent.
    #[schemars(range(min = 0.01))]
    amount: Number,
    /// Who gets it.
    #[schemars(length(min = 1, max = 200))]
    recipient: String,
    /// The code of the currency, such as USD.
    #[schemars(length(min = 1, max = 10))]
    currency: String,
    /// What it is for.
    #[schemars(length(max = 1000))]
    description: Option<String>,
}

#[derive(Serialize)]
struct Receipt {
    success: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    transaction_id: Option<String>,
    amount: Number,
    currency: String,
    recipient: String,
    description: String,
    wallet_balance: f64,
    timestamp: String,
}

pub(super) fn process_payment() -> ToolBuilder {
    let wallets = Mutex::new(Recent::new(MAX_WALLETS));
    Tool::server("process_payment", "Pays an amount of money to a recipient, from the wallet of this chat.", {
        move |payment: Payment, context: ToolContext| {
            let receipt = pay(&wallets, payment, &context);
            async move { Ok(receipt) }
        }
    })
    .title("Send a payment")
    .headline("Pay {amount} {currency} to {recipient}")
    .approve_always()
}

/// Holds the lock across the check and the payment, so that concurrent payments can't spend the same money.
fn pay(wallets: &Mutex<Recent<(Subject, ChatId), i64>>, payment: Payment, context: &ToolContext) -> Receipt {
    let price = cents(payment.amount.as_f64().unwrap_or(f64::MAX));
    let (is_paid, balance) = {
        let mut wallets = wallets.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (context.subject.clone(), context.chat.clone());
        let balance = wallets.entry(key, || last_balance(context.last_output.as_deref()));
        let is_paid = price <= *balance;
        if is_paid {
            *balance -= price;
        }
        (is_paid, *balance as f64 / 100.0)
    };
    let error = || {
        format!("Insufficient funds: {} {} is more than the {balance} in the wallet", payment.amount, payment.currency)
    };
    Receipt {
        success: is_paid,
        error: (!is_paid).then(error),
        transaction_id: is_paid.then(transaction_id),
        description: payment.description.unwrap_or_else(|| format!("Payment to {}", payment.recipient)),
        amount: payment.amount,
        currency: payment.currency,
        recipient: payment.recipient,
        wallet_balance: balance,
        timestamp: SystemClock.now().iso8601(),
    }
}

fn cents(amount: f64) -> i64 {
    // The conversion saturates: too large stays too large.
    (amount * 100.0).round() as i64
}

/// The balance after the chat's last payment. After a restart, only the log has it.
fn last_balance(last_output: Option<&Value>) -> i64 {
    last_output.and_then(|output| output.get("wallet_balance")?.as_f64()).map_or(INITIAL_BALANCE, cents)
}

fn transaction_id() -> String {
    let id = uuid::Uuid::new_v4().simple().to_string();
    format!("txn_{}", &id[..12])
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use futures::FutureExt;
    use serde_json::json;

    use super::{super::tests::Calls, *};

    fn payment(amount: impl Into<Value>) -> Value {
        json!({"amount": amount.into(), "recipient": "Hanako", "currency": "USD"})
    }

    #[tokio::test]
    async fn a_payment_gives_a_receipt() {
        let chat = Calls::of(process_payment());
        let input = json!({"amount": 50, "recipient": "花子", "currency": "EUR", "description": "Lunch", "more": 1});
        let receipt = chat.call(input).await.unwrap();
        let keys: Vec<&str> = receipt.as_object().unwrap().keys().map(String::as_str).collect();
        let expected = "success transaction_id amount currency recipient description wallet_balance timestamp";
        assert_eq!(keys.join(" "), expected);
        assert_eq!((&receipt["success"], &receipt["amount"]), (&json!(true), &json!(50)));
        assert_eq!((&receipt["currency"], &receipt["recipient"]), (&json!("EUR"), &json!("花子")));
        assert_eq!((&receipt["description"], &receipt["wallet_balance"]), (&json!("Lunch"), &json!(950.0)));
        let id = receipt["transaction_id"].as_str().unwrap();
        assert!(id.starts_with("txn_") && id.len() == 16, "{id}");
        assert!(receipt["timestamp"].as_str().unwrap().ends_with('Z'));
        let next = chat.call(payment(0.1)).await.unwrap();
        assert_eq!(next["wallet_balance"], 949.9);
        assert_ne!(next["transaction_id"], receipt["transaction_id"]);
        assert_eq!(next["description"], "Payment to Hanako");
    }

    #[tokio::test]
    async fn a_wallet_is_the_chats_and_can_be_emptied_but_not_more() {
        let first = Calls::of(process_payment());
        let second = first.in_chat("other");
        assert_eq!(first.call(payment(600)).await.unwrap()["wallet_balance"], 400.0);
        let refused = first.call(payment(400.01)).await.unwrap();
        assert_eq!((&refused["success"], &refused["wallet_balance"]), (&json!(false), &json!(400.0)));
        assert!(refused["error"].as_str().unwrap().contains("400.01 USD is more than the 400"), "{refused}");
        assert!(refused.get("transaction_id").is_none());
        assert_eq!(first.call(payment(400)).await.unwrap()["wallet_balance"], 0.0);
        assert_eq!(first.call(payment(0.01)).await.unwrap()["success"], false);
        assert_eq!(second.call(payment(1)).await.unwrap()["wallet_balance"], 999.0);
        assert_eq!(second.call(payment(1e300)).await.unwrap()["success"], false);
    }

    #[tokio::test]
    async fn after_a_restart_the_last_payment_tells_what_is_left() {
        let mut chat = Calls::of(process_payment());
        chat.last_output = Some(Arc::new(json!({"wallet_balance": 12.34})));
        // Two concurrent calls of one step get the same last output. Only the first may use it.
        assert_eq!(chat.call(payment(2.34)).await.unwrap()["wallet_balance"], 10.0);
        assert_eq!(chat.call(payment(3)).await.unwrap()["wallet_balance"], 7.0);
        let mut odd = chat.in_chat("other");
        odd.last_output = Some(Arc::new(json!("interrupted")));
        assert_eq!(odd.call(payment(1)).await.unwrap()["wallet_balance"], 999.0);
    }

    #[test]
    fn payments_at_the_same_time_do_not_spend_the_same_money() {
        let chat = Calls::of(process_payment());
        let pay = || chat.call(payment(100)).now_or_never().expect("no waiting").unwrap()["success"] == true;
        let paid: usize = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(|| (0..5).filter(|_| pay()).count())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).sum()
        });
        assert_eq!(paid, 10);
    }

    #[tokio::test]
    async fn what_is_no_payment_is_refused_with_the_field() {
        let chat = Calls::of(process_payment());
        for (input, part) in [
            (payment(0), "amount: 0 is less than the minimum"),
            (payment(-5), "amount: -5 is less than the minimum"),
            (payment("ten"), "amount: \"ten\" is not of type \"number\""),
            (json!({"amount": 5, "currency": "USD"}), "recipient: is required"),
            (json!({"amount": 5, "recipient": "Ken"}), "currency: is required"),
            (json!({"amount": 5, "recipient": "", "currency": "USD"}), "recipient: \"\""),
        ] {
            let error = chat.call(input).await.unwrap_err();
            assert!(error.0.contains(part), "{error}");
        }
    }
}
