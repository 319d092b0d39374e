// The model of sets (checkpoint/set_model.h), for training and evaluation.
// Letters: B rows of a batch, T tokens, L items, E width, H heads, D head size, Q judged rows (one), C classes.
#pragma once

#include "model/decoder.h"

namespace lenbench {

class SetModel final : public SequenceModel {
 public:
  // As Decoder's: `parameters` are exactly those of tensor_specs(config), shared. Requires config.item_classes > 0.
  SetModel(DecoderConfig config, std::vector<NamedTensor> parameters);

  std::vector<bool> head_has_position() const override { return position_->head_has_position(); }
  // The query's row, two tokens an item after the first, sees the items and not itself.
  at::Tensor last_keys(const at::Tensor& positions) const override;
  // A token's item; -1 stays -1.
  at::Tensor keys_of(const at::Tensor& positions) const override;

  // Logits [B, C] at the last token of each batch row, which `rows_N` must name. Throws Error where a token is not what
  // stands at its place (see the header above).
  at::Tensor forward(const at::Tensor& tokens_BT, const at::Tensor& rows_N) const override;
  // What the classifier reads, [B, 1, E]. Statistics are those of the one row there is, whichever rows are asked for.
  at::Tensor hidden(const EvaluationRequest& request) const override;
  at::Tensor logits(const at::Tensor& hidden_NE) const override;

 private:
  struct Mlp {
    at::Tensor weight_0, bias_0, weight_1, bias_1;
    at::Tensor operator()(const at::Tensor& x) const;
  };
  Mlp mlp(const std::string& name) const;
  // [B, 1, E]; `rows_B` int64: the query's place in each batch row, the number of items being half of it.
  at::Tensor attended(const at::Tensor& tokens_BT, const at::Tensor& rows_B, const EvaluationRequest* request) const;

  std::shared_ptr<const PositionEncoding> position_;
  std::shared_ptr<const AttentionTransform> transform_;
  TransformWeights transform_weights_;
  Mlp item_encoder_, query_encoder_, classifier_;
  at::Tensor q_proj_, k_proj_, v_proj_, o_proj_;
};

}  // namespace lenbench
