#pragma once  // the vocabulary is already there: including this shall do no harm
