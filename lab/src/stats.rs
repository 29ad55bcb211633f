// SPDX-License-Identifier: GPL-2.0-only
//! Means, 95 % intervals and Welch's comparison of two of them.
//!
//! A comparison is a ratio of means. Its interval is Fieller's: all ratios r for which Welch's t of
//! `a − r·b` stays within the quantile for Welch's degrees of freedom. At r = 1 that is Welch's
//! test of `a − b`, so the interval of the change excludes 0 exactly when Welch's does, and
//! the uncertainty of the divisor is in it.

/// A sample of figures, summed up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// How many.
    pub n: usize,
    /// Arithmetic mean.
    pub mean: f64,
    /// Standard deviation (n − 1); 0 for a single figure.
    pub sd: f64,
}

impl Summary {
    /// Sums up `values`; `None` when there are none.
    pub fn of(values: &[f64]) -> Option<Self> {
        let n = values.len();
        if n == 0 {
            return None;
        }
        let mean = values.iter().sum::<f64>() / n as f64;
        let squares: f64 = values.iter().map(|v| (v - mean).powi(2)).sum();
        let sd = if n > 1 { (squares / (n - 1) as f64).sqrt() } else { 0.0 };
        Some(Self { n, mean, sd })
    }

    /// Half the width of the 95 % interval of the mean; `None` below two figures.
    pub fn half_width(&self) -> Option<f64> {
        (self.n > 1).then(|| t_975((self.n - 1) as f64) * self.squared_error().sqrt())
    }

    /// Variance of the mean.
    fn squared_error(&self) -> f64 {
        self.sd * self.sd / self.n as f64
    }
}

/// 100·(a/b − 1) with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Of the means.
    pub pct: f64,
    /// Low and high end; `None` below two figures a side, or where b may be 0.
    pub ci95: Option<[f64; 2]>,
}

impl Change {
    /// Compares two samples; `None` when b's mean is 0.
    pub fn of(a: &Summary, b: &Summary) -> Option<Self> {
        let pct = |ratio: f64| 100.0 * (ratio - 1.0);
        let ratio = a.mean / b.mean;
        ratio.is_finite().then(|| Self { pct: pct(ratio), ci95: fieller(a, b).map(|c| c.map(pct)) })
    }

    /// −1 when the interval lies below 0, 1 when above, 0 when it holds 0 or there is none.
    pub fn direction(&self) -> i32 {
        match self.ci95 {
            Some([_, high]) if high < 0.0 => -1,
            Some([low, _]) if low > 0.0 => 1,
            _ => 0,
        }
    }
}

/// a − b of the means, with Welch's 95 % interval; that is `None` below two figures a side.
pub fn difference(a: &Summary, b: &Summary) -> (f64, Option<[f64; 2]>) {
    let points = a.mean - b.mean;
    let half = welch_df(a, b).map(|df| t_975(df) * (a.squared_error() + b.squared_error()).sqrt());
    let exact = (a.n > 1 && b.n > 1).then_some(0.0);
    (points, half.or(exact).map(|half| [points - half, points + half]))
}

/// Welch's degrees of freedom; `None` below two figures a side, or where neither side varies.
fn welch_df(a: &Summary, b: &Summary) -> Option<f64> {
    let (va, vb) = (a.squared_error(), b.squared_error());
    let varies = a.n > 1 && b.n > 1 && va + vb > 0.0;
    let terms = va * va / (a.n as f64 - 1.0) + vb * vb / (b.n as f64 - 1.0);
    varies.then(|| (va + vb).powi(2) / terms)
}

/// The interval of the ratio of two means.
fn fieller(a: &Summary, b: &Summary) -> Option<[f64; 2]> {
    if a.n < 2 || b.n < 2 {
        return None;
    }
    let (va, vb) = (a.squared_error(), b.squared_error());
    let Some(df) = welch_df(a, b) else { return Some([a.mean / b.mean; 2]) };
    let t2 = t_975(df).powi(2);
    // Ratios r with (a − r·b)² ≤ t²·(va + r²·vb): a quadratic in r.
    let square = b.mean * b.mean - t2 * vb;
    let half = a.mean * b.mean;
    let rest = a.mean * a.mean - t2 * va;
    if square <= 0.0 {
        return None;
    }
    let root = (half * half - square * rest).max(0.0).sqrt();
    Some([(half - root) / square, (half + root) / square])
}

/// The 0.975 quantile of Student's t for `df` degrees of freedom (≥ 1, may be fractional).
pub fn t_975(df: f64) -> f64 {
    let (mut low, mut high) = (1.9, 12.8);
    for _ in 0..60 {
        let middle = (low + high) / 2.0;
        // P(|T| > t) is the regularised incomplete beta at df / (df + t²).
        if incomplete_beta(df / 2.0, 0.5, df / (df + middle * middle)) > 0.05 {
            low = middle;
        } else {
            high = middle;
        }
    }
    (low + high) / 2.0
}

/// Regularised incomplete beta function by its continued fraction (Lentz's method).
fn incomplete_beta(a: f64, b: f64, x: f64) -> f64 {
    if x > (a + 1.0) / (a + b + 2.0) {
        return 1.0 - incomplete_beta(b, a, 1.0 - x);
    }
    let guard = |v: f64| if v.abs() < 1e-300 { 1e-300 } else { v };
    let (mut c, mut d) = (1.0, 1.0 / guard(1.0 - (a + b) * x / (a + 1.0)));
    let mut fraction = d;
    for m in 1..500 {
        let m = m as f64;
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let before = fraction;
        for term in [even, odd] {
            d = 1.0 / guard(1.0 + term * d);
            c = guard(1.0 + term / c);
            fraction *= c * d;
        }
        if (fraction - before).abs() < 1e-15 * fraction.abs() {
            break;
        }
    }
    let log = a * x.ln() + b * (1.0 - x).ln() + log_gamma(a + b) - log_gamma(a) - log_gamma(b);
    log.exp() * fraction / a
}

/// ln Γ(x) for x > 0: Stirling's series after shifting x beyond 10.
fn log_gamma(x: f64) -> f64 {
    let (mut x, mut shift) = (x, 0.0);
    while x < 10.0 {
        shift += x.ln();
        x += 1.0;
    }
    let series = 1.0 / (12.0 * x) - 1.0 / (360.0 * x.powi(3)) + 1.0 / (1260.0 * x.powi(5));
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * std::f64::consts::PI).ln() + series - shift
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::expect_used)]
    use super::*;

    fn near(a: f64, b: f64, tolerance: f64) {
        assert!((a - b).abs() <= tolerance, "{a} is not {b}");
    }

    #[test]
    fn quantiles_are_those_of_the_tables() {
        for (df, t) in [
            (1.0, 12.706205),
            (2.0, 4.302653),
            (3.0, 3.182446),
            (9.0, 2.262157),
            (18.0, 2.100922),
            (30.0, 2.042272),
            (120.0, 1.979930),
            (1e6, 1.959966),
        ] {
            near(t_975(df), t, 2e-6 * t);
        }
        assert!(t_975(9.5) < t_975(9.0) && t_975(9.5) > t_975(10.0));
    }

    #[test]
    fn summaries() {
        assert_eq!(Summary::of(&[]), None);
        let one = Summary::of(&[3.0]).unwrap();
        assert_eq!((one.mean, one.sd, one.half_width()), (3.0, 0.0, None));
        let three = Summary::of(&[1.0, 2.0, 3.0]).unwrap();
        assert_eq!((three.mean, three.sd), (2.0, 1.0));
        near(three.half_width().unwrap(), 4.302653 / 3f64.sqrt(), 1e-5);
    }

    #[test]
    fn welch_decides_where_the_interval_lies() {
        // By hand: difference -3.1, its error 1.370, 5.96 degrees of freedom, reach 3.36.
        let a = Summary::of(&[10.0, 11.0, 12.0, 13.0]).unwrap();
        let b = Summary::of(&[12.0, 13.0, 14.0, 15.0, 19.0]).unwrap();
        let change = Change::of(&a, &b).unwrap();
        near(change.pct, 100.0 * (11.5 / 14.6 - 1.0), 1e-9);
        assert_eq!(change.direction(), 0);
        // Two more like b's: the difference is beyond the interval.
        let b = Summary::of(&[12.0, 13.0, 14.0, 15.0, 19.0, 14.0, 15.0]).unwrap();
        assert_eq!(Change::of(&a, &b).unwrap().direction(), -1);
        assert_eq!(Change::of(&b, &a).unwrap().direction(), 1);
    }

    /// The ratio's interval excludes 1 exactly when the difference's excludes 0.
    #[test]
    fn ratio_and_difference_agree() {
        let b = Summary { n: 10, mean: 100.0, sd: 6.0 };
        for step in 0..400 {
            let a = Summary { n: 7, mean: 80.0 + 0.1 * step as f64, sd: 4.0 };
            let (va, vb) = (16.0 / 7.0, 36.0 / 10.0);
            let df = (va + vb) * (va + vb) / (va * va / 6.0 + vb * vb / 9.0);
            let reach = t_975(df) * f64::sqrt(va + vb);
            let excludes = (a.mean - b.mean).abs() > reach;
            assert_eq!(Change::of(&a, &b).unwrap().direction() != 0, excludes, "at {}", a.mean);
        }
    }

    #[test]
    fn figures_without_spread_are_compared_as_they_are() {
        let same = Summary::of(&[56.0; 4]).unwrap();
        assert_eq!(Change::of(&same, &same).unwrap(), Change { pct: 0.0, ci95: Some([0.0, 0.0]) });
        let less = Summary::of(&[55.0; 4]).unwrap();
        assert_eq!(Change::of(&less, &same).unwrap().direction(), -1);
    }

    #[test]
    fn what_cannot_be_compared_has_no_interval() {
        let one = Summary::of(&[5.0]).unwrap();
        let two = Summary::of(&[5.0, 6.0]).unwrap();
        assert_eq!(Change::of(&one, &two).unwrap().ci95, None);
        assert_eq!(Change::of(&one, &two).unwrap().direction(), 0);
        assert_eq!(Change::of(&two, &Summary::of(&[0.0, 0.0]).unwrap()), None);
        // b is not told from 0: the ratio has no bounded interval.
        assert_eq!(Change::of(&two, &Summary::of(&[-5.0, 6.0]).unwrap()).unwrap().ci95, None);
    }
}
