#include "server/update/optimizer_oracle.h"

#include <algorithm>
#include <cmath>

namespace seraph {
namespace {

double Sign(double x) { return x > 0 ? 1.0 : x < 0 ? -1.0 : 0.0; }

double Proximal(double w, double by) {
  return Sign(w) * std::max(0.0, std::abs(w) - by);
}

}  // namespace

OptimizerOracle::OptimizerOracle(const OptimizerSpec& optimizer, double weight)
    : o_(optimizer), w_(weight) {
  if (o_.kind == OptimizerKind::kFtrl && weight != 0) {
    z_ = -weight * (o_.l2 + o_.beta / o_.alpha) - Sign(weight) * o_.l1;
  }
}

void OptimizerOracle::Push(double g, double eta) {
  if (o_.clip_value > 0) g = std::clamp(g, -o_.clip_value, o_.clip_value);
  if (o_.kind != OptimizerKind::kFtrl) g += o_.l2 * w_;
  switch (o_.kind) {
    case OptimizerKind::kSgd:
      w_ = Proximal(w_ - eta * g, eta * o_.l1);
      return;
    case OptimizerKind::kMomentum:
      v_ = o_.momentum * v_ + g;
      w_ = Proximal(w_ - eta * v_, eta * o_.l1);
      return;
    case OptimizerKind::kNesterov:
      v_ = o_.momentum * v_ + g;
      w_ = Proximal(w_ - eta * (g + o_.momentum * v_), eta * o_.l1);
      return;
    case OptimizerKind::kAdagrad: {
      n_ += g * g;
      const double rate = eta / (std::sqrt(n_) + o_.epsilon);
      w_ = Proximal(w_ - rate * g, rate * o_.l1);
      return;
    }
    case OptimizerKind::kRmsprop: {
      n_ = o_.rho * n_ + (1 - o_.rho) * g * g;
      const double rate = eta / (std::sqrt(n_) + o_.epsilon);
      w_ = Proximal(w_ - rate * g, rate * o_.l1);
      return;
    }
    case OptimizerKind::kAdadelta: {
      n_ = o_.rho * n_ + (1 - o_.rho) * g * g;
      const double ratio =
          std::sqrt(d_ + o_.epsilon) / std::sqrt(n_ + o_.epsilon);
      w_ = Proximal(w_ - eta * ratio * g, eta * ratio * o_.l1);
      d_ = o_.rho * d_ + (1 - o_.rho) * (ratio * g) * (ratio * g);
      return;
    }
    case OptimizerKind::kAdam:
    case OptimizerKind::kAdamw: {
      power1_ *= o_.beta1;
      power2_ *= o_.beta2;
      m_ = o_.beta1 * m_ + (1 - o_.beta1) * g;
      v_ = o_.beta2 * v_ + (1 - o_.beta2) * g * g;
      const double mhat = m_ / (1 - power1_);
      const double vhat = v_ / (1 - power2_);
      if (o_.kind == OptimizerKind::kAdamw) w_ -= eta * o_.weight_decay * w_;
      const double rate = eta / (std::sqrt(vhat) + o_.epsilon);
      w_ = Proximal(w_ - rate * mhat, rate * o_.l1);
      return;
    }
    case OptimizerKind::kFtrl: {
      const double s = (std::sqrt(n_ + g * g) - std::sqrt(n_)) / o_.alpha;
      z_ += g - s * w_;
      n_ += g * g;
      w_ = std::abs(z_) <= o_.l1
               ? 0.0
               : -(z_ - Sign(z_) * o_.l1) /
                     (o_.l2 + (o_.beta + std::sqrt(n_)) / o_.alpha);
      return;
    }
    case OptimizerKind::kSum:
      w_ += g;
      return;
    case OptimizerKind::kAssign:
      w_ = g;
      return;
  }
}

void OptimizerOracle::Idle(double eta) {
  if (o_.kind == OptimizerKind::kSgd) {
    w_ = Proximal(w_ - eta * o_.l2 * w_, eta * o_.l1);
  }
  if (o_.kind == OptimizerKind::kAdamw) w_ -= eta * o_.weight_decay * w_;
}

}  // namespace seraph
